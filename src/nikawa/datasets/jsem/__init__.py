"""JSeM (Kawazoe et al., 2015), from which JAMP's templates come."""
