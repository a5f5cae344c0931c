"""How the papers' datasets are built: the engine, one file per recipe, lineage, corrected releases."""
