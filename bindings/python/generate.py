"""Makes two modules of the package, so that nothing in them can differ from the library that the package carries:

  _abi.py       every struct, callback and function of include/oatgp.h, for ctypes
  _settings.py  the settings as types and as keywords of the estimator, with their help, from the library's table

usage: generate.py COMPILER INCLUDE_DIR LIBRARY OUT_DIR
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

PLAIN = {
    "int": "c_int",
    "double": "c_double",
    "size_t": "c_size_t",
    "int64_t": "c_int64",
    "uint64_t": "c_uint64",
}

# ---- the header ---------------------------------------------------------------------------------------------------


def preprocess(compiler: str, include: str) -> str:
    """Only the declarations: no comments, no system headers, with the tables of settings and codes expanded."""
    lines = (Path(include) / "oatgp.h").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#include <"))
    command = [compiler, "-E", "-P", f"-I{include}", "-DOATGP_POSITIVE=0", "-x", "c", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


class Header:
    """The types found so far, and the lines of the module."""

    def __init__(self) -> None:
        self.enums: dict[str, list[str]] = {}
        self.structs: list[str] = []
        self.callbacks: list[str] = []
        self.lines: list[str] = []

    def type_of(self, base: str, stars: int, in_struct: bool) -> str:
        """The ctypes name of a C type; arrays of an argument are addresses, those of a struct can be looked at."""
        base = base.replace("const", "").replace("struct", "").strip()
        if base == "char":
            return "C.c_char_p" if stars == 1 else "C.POINTER(C.c_char_p)"
        if stars == 2:
            return "C.POINTER(C.c_void_p)"
        if stars == 1:
            if base in self.structs:
                return f"C.POINTER({base})"
            return f"C.POINTER(C.{PLAIN[base]})" if in_struct and base in PLAIN else "C.c_void_p"
        if base in PLAIN:
            return f"C.{PLAIN[base]}"
        if base in self.enums:
            return "C.c_int"
        if base == "void":
            return "None"
        if base in self.structs or base in self.callbacks:
            return base
        raise ValueError(f"generate.py does not know the type '{base}'")

    def split(self, declaration: str) -> tuple[str, list[str]]:
        """'const char *a, *b' -> 'const char', ['*a', '*b']"""
        first, *others = declaration.split(",")
        match = re.fullmatch(r"\s*((?:(?:const|struct|unsigned)\s+)*\w+)\s*(.*)", first.replace("*", " *").strip(), re.S)
        if match is None:
            raise ValueError(f"generate.py cannot read '{declaration}'")
        return match[1], [match[2], *others]

    def argument(self, declaration: str) -> str:
        base, (declarator,) = self.split(declaration)
        return self.type_of(base, declarator.count("*"), False)

    def arguments(self, text: str) -> str:
        return ", ".join(self.argument(part) for part in text.split(",") if text.strip() != "void")

    def fields(self, body: str) -> list[tuple[str, str]]:
        found = []
        for declaration in filter(None, (part.strip() for part in body.split(";"))):
            function = re.fullmatch(r"(\w+) \(\*(\w+)\)\((.*)\)", declaration, re.S)
            if function is not None:
                kinds = f"{self.type_of(function[1], 0, False)}, {self.arguments(function[3])}"
                found.append((function[2], f"C.CFUNCTYPE({kinds})"))
                continue
            base, declarators = self.split(declaration)
            for declarator in declarators:
                name = re.sub(r"[\s*]|\bconst\b", "", declarator)
                found.append((name, self.type_of(base, declarator.count("*"), True)))
        return found

    def struct(self, name: str, body: str) -> None:
        self.lines += ["", "", f"class {name}(C.Structure):", "    _fields_ = ["]
        self.lines += [f'        ("{field}", {kind}),' for field, kind in self.fields(body)]
        self.lines.append("    ]")
        self.structs.append(name)

    def callback(self, result: str, name: str, arguments: str) -> None:
        self.lines += ["", "", f"{name} = C.CFUNCTYPE({self.type_of(result, 0, False)}, {self.arguments(arguments)})"]
        self.callbacks.append(name)

    def function(self, result: str, stars: str, name: str, arguments: str) -> str:
        return f'    "{name}": ({self.type_of(result, len(stars), False)}, [{self.arguments(arguments)}]),'


DECLARATION = re.compile(
    r"""typedef \s+ enum \s+ (?P<enum>\w+) \s* \{ (?P<names>[^}]*) \}
      | typedef \s+ struct \s+ \w+ \s* \{ (?P<body>[^}]*) \} \s* (?P<struct>\w+) \s* ;
      | typedef \s+ (?P<result>\w+) \s* \(\*(?P<callback>\w+)\) \s* \( (?P<heard>[^)]*) \) \s* ;
      | visibility\("default"\)\)\) \s+ (?P<back>(?:const\s+)?\w+) \s* (?P<stars>\**) \s* (?P<function>oatgp_\w+)
        \s* \( (?P<taken>[^)]*) \) \s* ;""",
    re.X,
)


def abi_module(text: str) -> str:
    header, functions = Header(), []
    for match in DECLARATION.finditer(text):
        if match["enum"]:
            header.enums[match["enum"]] = [name.strip() for name in match["names"].split(",") if name.strip()]
        elif match["struct"]:
            header.struct(match["struct"], match["body"])
        elif match["callback"]:
            header.callback(match["result"], match["callback"], match["heard"])
        else:
            functions.append(header.function(match["back"], match["stars"], match["function"], match["taken"]))
    if len(functions) != text.count('visibility("default")'):
        raise ValueError("generate.py has not understood every function of oatgp.h")
    head = ['"""Made by generate.py from include/oatgp.h."""', "", "import ctypes as C", "from typing import Any, Dict, List, Tuple"]
    for names in header.enums.values():
        head += ["", *(f"{name} = {value}" for value, name in enumerate(names))]
    tail = ["", "", "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {", *functions, "}", ""]
    return "\n".join(head + header.lines + tail)


# ---- the table of settings ------------------------------------------------------------------------------------------

REAL, INT, BYTES, FLAG, CHOICE = range(5)
AUTO = "auto"  # the default of a number that the library chooses

# Settings of files, which arrays do not need, and those that the estimator has under another name. Rows for a model have its inputs.
OF_READING = ("header", "missing")
OF_COLUMNS = ("trials", "exposure")  # that predictions use, too
OF_ROWS = ("target", "weights", "noise_variance", *OF_COLUMNS, *OF_READING)
OF_FILES = ("inputs", "factors", *OF_ROWS)
NOT_OF_THE_ESTIMATOR = (*OF_FILES, "seed")

# A text that can be given as something else, too.
WIDER = {
    "kernel": "Union[str, Kernel]",
    "knots": "Union[int, str, Any]",
    "lengthscale": "Union[float, str, Sequence[float]]",
    "mean": "Union[float, str]",
    "fix": "Union[str, Sequence[str]]",
    "parameters": "Union[str, Sequence[float], Mapping[str, float]]",
    "inputs": "Union[str, Sequence[Union[int, str]]]",
    "factors": "Union[str, Sequence[Union[int, str]]]",
    "target": "Union[int, str]",
    "weights": "Any",
    "noise_variance": "Any",
    "trials": "Any",
    "exposure": "Any",
}
# What help() says of the types of these.
SHOWN = {
    "knots": "int, array or str",
    "lengthscale": "float, sequence or str",
    "mean": "float or str",
    "fix": "str or sequence of str",
    "parameters": "dict, sequence or str",
    "inputs": "sequence or str",
    "factors": "sequence or str",
    "target": "str or int",
    "weights": "array or str",
    "noise_variance": "array or str",
    "trials": "array or str",
    "exposure": "array or str",
}
MORE = {
    "kernel": "; also an object of oatgp.kernels",
    "likelihood": "; also an object of oatgp.likelihoods",
    "missing": "; the same for tables, where masked values are missing, too",
    "knots": "; also an array with one knot a row",
    "lengthscale": "; also a number or a sequence",
    "parameters": "; also a sequence of numbers, or a dict from names to numbers",
    "weights": "; or an array with one for each row",
    "noise_variance": "; or an array with one for each row",
    "trials": "; or an array with one for each row",
    "exposure": "; or an array with one for each row",
}


def wrapped(text: str, first: str, others: str) -> list[str]:
    """In lines that do not break names such as negative-binomial."""
    return textwrap.wrap(text, 110, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


class Row:
    """A setting, as the library tells it."""

    def __init__(self, row: Any) -> None:
        self.name: str = row.name.decode()
        self.kind: int = row.type
        self.default: str = row.value.decode()
        self.choices: list[str] = row.choices.decode().split("|") if row.choices else []
        self.verbs: list[str] = row.verbs.decode().split(",")
        options = re.compile("--([a-z][a-z-]*[a-z])")
        self.help: str = options.sub(lambda found: found[1].replace("-", "_"), row.help.decode()) + MORE.get(row.name.decode(), "")

    @property
    def type(self) -> str:
        if self.kind == CHOICE:
            literal = "Literal[" + ", ".join(f'"{choice}"' for choice in self.choices) + "]"
            return f"Union[{literal}, Likelihood]" if self.name == "likelihood" else literal
        plain = {REAL: "float", INT: "int", BYTES: "Union[int, str]", FLAG: "bool"}
        type = plain.get(self.kind) or WIDER.get(self.name, "str")
        return f'Union[{type}, Literal["{AUTO}"]]' if self.automatic else type

    @property
    def automatic(self) -> bool:
        """Whether it is a number that the library chooses unless one is given."""
        return self.kind in (REAL, INT) and self.default == AUTO

    @property
    def shown_type(self) -> str:
        if self.name in SHOWN:
            return SHOWN[self.name]
        if self.choices:
            return f"{{{', '.join(self.choices)}}}" + (" or an expression" if self.kind > CHOICE else "")
        plain = {REAL: "float", INT: "int", FLAG: "bool"}.get(self.kind, "str")
        return f'{plain} or "{AUTO}"' if self.automatic else plain

    @property
    def shown_default(self) -> str:
        if self.kind == FLAG:
            return str(self.default in ("1", "yes"))
        return f'"{self.default}"' if self.kind > FLAG or self.automatic else self.default

    def paragraph(self, indent: str) -> list[str]:
        default = "optional" if self.shown_default == '""' else f"default {self.shown_default}"
        help = f"{self.help[0].upper()}{self.help[1:]}."
        return wrapped(f"{self.name} : {self.shown_type}, {default}", indent, indent + "      ") + wrapped(help, indent + "    ", indent + "    ")


def settings_table(library: str, abi: str) -> list[Row]:
    names: dict[str, Any] = {}
    exec(compile(abi, "_abi.py", "exec"), names)  # noqa: S102
    loaded = ctypes.CDLL(library)
    at = loaded.oatgp_setting_at
    at.argtypes, at.restype = [ctypes.c_size_t], ctypes.POINTER(names["oatgp_setting"])
    count = loaded.oatgp_setting_count
    count.restype = ctypes.c_size_t
    rows = [at(index).contents for index in range(count())]
    return [Row(row) for row in rows if not row.in_command_only]


def help_of(row: Row) -> list[str]:
    """A row of HELP."""
    first, *others = row.paragraph("    ")
    return [f'    "{row.name}": (', f'        "{",".join(row.verbs)}",', f'        """{first}', *others, '""",', "    ),"]


def settings_module(rows: list[Row]) -> str:
    fit = [row for row in rows if "fit" in row.verbs and row.name not in NOT_OF_THE_ESTIMATOR]
    lines = [
        '"""Made by generate.py from the library\'s table of settings."""',
        "",
        "from typing import Any, Collection, Dict, Literal, Mapping, Optional, Sequence, Tuple, TypedDict, Union",
        "",
        "from .kernels import Kernel",
        "from .likelihoods import Likelihood",
        "",
        "",
        "class Settings(TypedDict, total=False):",
        '    """Every setting; each function takes those of its verb (`oatgp VERB --help`, docs/options.md)."""',
        "",
        *(f"    {row.name}: {row.type}" for row in rows),
        "",
        "",
        "class OfReading(TypedDict, total=False):",
        '    """Settings of rows for predictions: of a file, and what other likelihoods know of each row."""',
        "",
        *(f"    {row.name}: {row.type}" for row in rows if row.name in OF_READING + OF_COLUMNS),
        "",
        "",
        "class OfRows(TypedDict, total=False):",
        '    """Settings of rows with a target."""',
        "",
        *(f"    {row.name}: {row.type}" for row in rows if row.name in OF_ROWS),
        "",
        "",
        f"OF_READING = {OF_READING}",
        f"OF_COLUMNS = {OF_COLUMNS}",
        f"OF_ROWS = {OF_ROWS}",
        f"OF_FILES = {OF_FILES}",
        f"NOT_OF_THE_ESTIMATOR = {NOT_OF_THE_ESTIMATOR}",
        "",
        "",
        "class Keywords:",
        '    """The settings of a fit as keywords; None stands for the default, or for what the preset says."""',
        "",
        "    def __init__(",
        "        self,",
        "        *,",
        "        random_state: Any = None,",
        "        certify: bool = False,",
        "        progress: Any = False,",
        '        on_interrupt: Literal["raise", "return"] = "raise",',
        *(f"        {row.name}: Optional[{row.type}] = None," for row in fit),
        "    ) -> None:",
        "        self.random_state = random_state",
        "        self.certify = certify",
        "        self.progress = progress",
        "        self.on_interrupt = on_interrupt",
        *(f"        self.{row.name} = {row.name}" for row in fit),
        "",
        "",
        "NAMES = (",
        *(f'    "{row.name}",' for row in fit),
        ")",
        "",
        "#: The verbs of each setting, and what help() says of it.",
        "HELP: Dict[str, Tuple[str, str]] = {",
        *(line for row in rows for line in help_of(row)),
        "}",
        "",
        "",
        "def parameters(verb: str, without: Collection[str] = ()) -> str:",
        '    """The settings of a verb, as numpydoc lists parameters."""',
        '    return "".join(text for name, (verbs, text) in HELP.items() if verb in verbs.split(",") and name not in without)',
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    compiler, include, library, out = sys.argv[1:]
    abi = abi_module(preprocess(compiler, include))
    Path(out, "_abi.py").write_text(abi, encoding="utf-8")
    Path(out, "_settings.py").write_text(settings_module(settings_table(library, abi)), encoding="utf-8")


if __name__ == "__main__":
    main()
