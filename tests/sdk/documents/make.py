"""Makes the documents in this directory: run it again only to change them, for they are committed.

It needs python-docx, openpyxl, python-pptx, fpdf2 and xlwt, none of which the tests themselves need.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import docx
import fpdf
import openpyxl
import pptx
import xlwt

HERE = Path(__file__).parent
WORDS = "The reef lies beneath the surface of the sea and is home to thousands of kinds of fish, weeds and corals."
CHAPTERS = ["Origins", "Kinds", "Dangers", "Care"]
LENGTHS = [("Great Barrier", 2300), ("Mesoamerican", 1000), ("New Caledonia", 1500), ("Florida", 560)]


def word() -> None:
    """Headings, lists of both kinds, a table, a link and emphasis."""
    document = docx.Document()
    document.core_properties.title = "Reefs of the World"
    document.core_properties.author = "A. Diver"
    document.add_heading("Reefs of the World", 0)
    for chapter in CHAPTERS:
        document.add_heading(chapter, 1)
        paragraph = document.add_paragraph(f"{WORDS} ")
        paragraph.add_run("Bold words").bold = True
        paragraph.add_run(" and ")
        paragraph.add_run("slanted ones").italic = True
        for _ in range(6):
            document.add_paragraph(WORDS)
        document.add_heading(f"{chapter} in short", 2)
        for item in ["Fringing reefs", "Barrier reefs", "Atolls"]:
            document.add_paragraph(item, style="List Bullet")
        for step in ["Look", "Count", "Write down"]:
            document.add_paragraph(step, style="List Number")
        table = document.add_table(rows=1, cols=2)
        table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Name", "Length in km"
        for name, length in LENGTHS:
            cells = table.add_row().cells
            cells[0].text, cells[1].text = name, str(length)
    paragraph = document.add_paragraph("More is at ")
    relation = document.part.relate_to(
        "https://reefs.example/more", docx.opc.constants.RELATIONSHIP_TYPE.HYPERLINK, is_external=True
    )
    link = docx.oxml.OxmlElement("w:hyperlink")
    link.set(docx.oxml.ns.qn("r:id"), relation)
    run = docx.oxml.OxmlElement("w:r")
    text = docx.oxml.OxmlElement("w:t")
    text.text = "the site of the reefs"
    run.append(text)
    link.append(run)
    paragraph._p.append(link)
    document.save(str(HERE / "report.docx"))


def workbook() -> None:
    """Two sheets, dates and a cell with a bar in it."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sightings"
    sheet.append(["Day", "Kind", "Count", "Remark"])
    for number in range(300):
        day = datetime.date(2026, 1, 1) + datetime.timedelta(days=number)
        sheet.append([day, ["Turtle", "Shark", "Ray"][number % 3], number, f"seen | heard {number}"])
    other = book.create_sheet("Lengths")
    other.append(["Reef", "Length"])
    for row in LENGTHS:
        other.append(list(row))
    book.save(str(HERE / "sightings.xlsx"))


def old_workbook() -> None:
    """The same in the format of before 2007."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("Lengths")
    for row, (name, length) in enumerate([("Reef", "Length"), *LENGTHS]):
        sheet.write(row, 0, name)
        sheet.write(row, 1, length)
    book.save(str(HERE / "lengths.xls"))


def presentation() -> None:
    """Slides with titles, bullets, a table and notes."""
    deck = pptx.Presentation()
    for number, chapter in enumerate(CHAPTERS, 1):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"{number}. {chapter}"
        body = slide.placeholders[1].text_frame
        body.text = f"What {chapter.lower()} means"
        for item in ["Fringing reefs", "Barrier reefs", "Atolls"]:
            paragraph = body.add_paragraph()
            paragraph.text, paragraph.level = item, 1
        slide.notes_slide.notes_text_frame.text = f"Say something about {chapter.lower()}."
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Lengths"
    inch = pptx.util.Inches
    table = slide.shapes.add_table(len(LENGTHS) + 1, 2, inch(1), inch(2), inch(6), inch(2)).table
    for row, (name, length) in enumerate([("Reef", "Length"), *LENGTHS]):
        table.cell(row, 0).text, table.cell(row, 1).text = name, str(length)
    deck.save(str(HERE / "slides.pptx"))


def portable() -> None:
    """Four pages with headings, text, a list and a table."""
    document = fpdf.FPDF()
    document.set_title("Reefs of the World")
    document.set_author("A. Diver")
    for number, chapter in enumerate(CHAPTERS, 1):
        document.add_page()
        document.set_font("helvetica", style="B", size=24)
        document.cell(0, 14, f"{number}. {chapter}", new_x="LMARGIN", new_y="NEXT")
        document.set_font("helvetica", size=11)
        for _ in range(5):
            document.multi_cell(0, 6, WORDS, new_x="LMARGIN", new_y="NEXT")
            document.ln(3)
        for item in ["Fringing reefs", "Barrier reefs", "Atolls"]:
            document.cell(0, 6, f"- {item}", new_x="LMARGIN", new_y="NEXT")
        document.ln(4)
        with document.table(col_widths=(60, 40), width=100) as table:
            for row in [("Name", "Length"), *LENGTHS]:
                cells = table.row()
                for cell in row:
                    cells.cell(str(cell))
    document.output(str(HERE / "report.pdf"))


def protected() -> None:
    """One that needs a password."""
    document = fpdf.FPDF()
    document.set_encryption(owner_password="owner", user_password="user")
    document.add_page()
    document.set_font("helvetica", size=12)
    document.cell(text="secret words")
    document.output(str(HERE / "protected.pdf"))


for make in [word, workbook, old_workbook, presentation, portable, protected]:
    make()
