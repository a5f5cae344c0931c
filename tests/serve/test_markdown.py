"""Markdown of guidelines: it does what they need, in Japanese and Korean too, and nothing in it runs."""

from __future__ import annotations

import re

import pytest

from nikawa.serve.markdown import render_markdown


def test_markdown_is_safe_and_does_what_guidelines_need() -> None:
    text = "# 題\n\n- **太** と *斜*\n- `<b>`\n\n1. 一\n\n> 引用\n\n|a|b|\n|-|-|\n|1|<i>|\n\n[x](https://e.example)\n[y](javascript:z)\n\n```\n<p>\n```\n"
    made = re.sub(r">\n<", "><", render_markdown(text))
    for part in (
        "<h2>題</h2>",
        "<li><strong>太</strong> と <em>斜</em></li>",
        "<code>&lt;b&gt;</code>",
        "<ol><li>一",
        "<blockquote><p>引用",
        "<td>&lt;i&gt;</td>",
        'href="https://e.example"',
        "<pre><code>&lt;p&gt;",
    ):
        assert part in made
    assert "javascript" not in re.findall(r'href="([^"]+)"', made)[0]
    assert len(re.findall("href=", made)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://e.example/x.png)",
        "[a](javascript:alert(1))",
        "[a]( JaVaScRiPt:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "[a](vbscript:x) [b](//e.example) [c](/w/x) [d](file:///etc/passwd)",
        "[a]\n\n[a]: javascript:alert(1)",
        "<javascript:alert(1)>",
        '[a](https://e.example "x\\" onmouseover=alert(1)")',
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "# <svg onload=alert(1)>",
        "```html onload=x\n<script>\n```",
        "|<b>|\n|-|\n|<script>|",
    ],
)
def test_nothing_runs(text: str) -> None:
    made = render_markdown(text)
    for tag in re.findall(r"<[^>]*>", made):
        assert re.match(r"</?(?:p|a|h\d|br|code|pre|table|thead|tbody|tr|th|td)\b", tag), tag
        outside = re.sub(r'"[^"]*"', "", tag)
        assert not re.search(r"\bon\w+\s*=|script", outside), tag
    links = re.findall(r'href="([^"]*)"', made)
    assert all(link.startswith("https://e.example") for link in links)
    assert made.count("<a ") == made.count('rel="noreferrer noopener" target="_blank"')


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("**「強調」**です", "<strong>「強調」</strong>です"),
        ("これは**強調**です。", "これは<strong>強調</strong>です。"),
        ("**注意。**次へ", "<strong>注意。</strong>次へ"),
        ("**이 용어(term)**를 씁니다", "<strong>이 용어(term)</strong>를 씁니다"),
        ('**"강조"**는', "<strong>&quot;강조&quot;</strong>는"),
        ("a **b** c", "a <strong>b</strong> c"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("** not **", "** not **"),
    ],
)
def test_emphasis_beside_letters_without_blanks(text: str, made: str) -> None:
    assert render_markdown(text) == f"<p>{made}</p>\n"


def test_lines_are_kept_and_headings_are_lowered() -> None:
    assert render_markdown("a\nb") == "<p>a<br>\nb</p>\n"
    assert render_markdown("###### x") == "<h6>x</h6>\n"
    nested = re.sub(r"\n", "", render_markdown("- a\n  - b\n- c"))
    assert nested == "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"
