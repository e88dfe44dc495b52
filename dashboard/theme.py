"""How does the dashboard look, in light and dark, for eyes that see all colours and those that don't?"""

from __future__ import annotations

FLAGS = {
    "theme.base": "light",
    "theme.light.primaryColor": "#005A8C",
    "theme.light.backgroundColor": "#FFFFFF",
    "theme.light.secondaryBackgroundColor": "#F3F5F7",
    "theme.light.textColor": "#1B1F24",
    "theme.dark.primaryColor": "#7CC4F0",
    "theme.dark.backgroundColor": "#11161C",
    "theme.dark.secondaryBackgroundColor": "#1B222B",
    "theme.dark.textColor": "#E8ECF0",
    "theme.light.codeTextColor": "#1B1F24",
    "theme.dark.codeTextColor": "#E8ECF0",
    "theme.metricValueFontSize": "1.6rem",
    "theme.headingFontSizes": '["1.75rem","1.3rem","1.1rem"]',
    "theme.paddingTop": "1rem",
    "theme.paddingBottom": "3rem",
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "browser.gatherUsageStats": "false",
    "runner.magicEnabled": "false",
    "server.headless": "true",
    "server.fileWatcherType": "none",
}
"""Streamlit's options, given on its command line so that no file has to lie anywhere. Tracebacks stay in the log."""

# A shadow stands at a side of a table where more of it is hidden: the paper that covers it scrolls away with the table's own end.
CSS = """
<style>
.tc-table {width: 100%; overflow-x: auto; max-height: 34rem; overflow-y: auto; --tc-paper: #FFFFFF;
  background: linear-gradient(to right, var(--tc-paper) 40%, transparent) left / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--tc-paper) 40%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to right, rgba(128,128,128,0.45), transparent) left / 0.9rem 100% no-repeat scroll,
    linear-gradient(to left, rgba(128,128,128,0.45), transparent) right / 0.9rem 100% no-repeat scroll;}
.tc-table table {border-collapse: separate; border-spacing: 0; width: 100%; font-size: 0.875rem;}
.tc-table caption {text-align: left; font-weight: 600; padding: 0.25rem 0;}
.tc-table caption span {position: sticky; left: 0; display: inline-block; max-width: min(100%, calc(100vw - 2rem)); white-space: normal;}
.tc-table th, .tc-table td {padding: 0.3rem 0.6rem; border-bottom: 1px solid rgba(128,128,128,0.3); white-space: nowrap;}
.tc-table th {text-align: left; position: sticky; top: 0; font-weight: 600;
  background: linear-gradient(rgba(128,128,128,0.18), rgba(128,128,128,0.18)), var(--tc-paper);}
.tc-table th[title] {text-decoration: underline dotted; text-underline-offset: 0.2em; cursor: help;}
.tc-table .n {text-align: right; font-variant-numeric: tabular-nums;}
.tc-table tr.total td, .tc-table tr.subtotal td {font-weight: 600;}
.tc-table tr.total td {border-top: 2px solid rgba(128,128,128,0.6);}
.tc-table td.text {max-width: 22rem; overflow: hidden; text-overflow: ellipsis;}
.tc-table td.prose {white-space: normal; min-width: 20rem;}
.tc-table th:first-child, .tc-table td:first-child {position: sticky; left: 0; z-index: 1;}
.tc-table td:first-child {background: var(--tc-paper);}
.tc-table th:first-child {z-index: 2;}
.tc-table td.neg {color: #B34700;}
@media (prefers-color-scheme: dark) {
  .tc-table {--tc-paper: #11161C;} .tc-table td.neg {color: #FF9B5E;}
  [data-testid^=stBaseButton-primary] p {color: #11161C;}
}
/* Tiles stand in pairs on a phone: one a line, they would fill the screen before the first table. */
@media (max-width: 640px) {
  [data-testid=stHorizontalBlock]:has([data-testid=stMetric]) > [data-testid=stColumn] {
    flex: 1 1 calc(50% - 0.5rem); min-width: calc(50% - 0.5rem);}
}
</style>
"""
