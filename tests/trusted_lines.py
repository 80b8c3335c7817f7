"""`make trusted`: the files that the privacy claim rests on, and their lines of code, docstrings and comments."""

from pathlib import Path

TRUSTED = Path(__file__).parents[1] / "sfumato" / "trusted"


def lines_by_room() -> dict[str, dict[str, int]]:
    """The lines of every trusted file, by folder."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted(TRUSTED.rglob("*.py")):
        room = str(path.parent.relative_to(TRUSTED.parent))
        found.setdefault(room, {})[path.name] = len(path.read_text(encoding="utf-8").splitlines())
    return found


def main() -> None:
    """Print them."""
    rooms = lines_by_room()
    for room, files in rooms.items():
        print(f"{sum(files.values()):6d}  sfumato/{room}/")
        for name, lines in files.items():
            print(f"{lines:13d}  {name}")
    files = sum(map(len, rooms.values()))
    print(f"{sum(sum(room.values()) for room in rooms.values()):6d}  lines in {files} files")


if __name__ == "__main__":
    main()
