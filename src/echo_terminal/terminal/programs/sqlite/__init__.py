"""``sqlite3`` after the shell of SQLite 3.40."""
