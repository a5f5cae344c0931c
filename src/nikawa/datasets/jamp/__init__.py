"""JAMP (Sugimoto, Onoe and Yanaka, ACL SRW 2023)."""
