"""Results as cards: small pieces of HTML that notebooks place beneath a cell, without script or stylesheet."""
