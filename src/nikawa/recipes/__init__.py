"""How the papers' datasets are built: the engine, one file a recipe, lineage, corrected releases."""
