"""How does FlashInfer want a step described? As compressed rows of pages: where each sequence's pages start, which they are."""

from __future__ import annotations

from dataclasses import dataclass

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata


@dataclass(frozen=True)
class PageTable:
    """Attributes: qo_indptr, kv_indptr: [sequences + 1]; kv_indices: page ids; kv_last_page_len: [sequences], 1..page size."""

    qo_indptr: list[int]
    kv_indptr: list[int]
    kv_indices: list[int]
    kv_last_page_len: list[int]


def page_table(batch: BatchMetadata, group: GroupMetadata) -> PageTable:
    """The pages each sequence's context fills, new tokens included.

    Pages that a window has passed stay in the row, as page 0: FlashInfer counts positions by pages and masks by `window_left`.
    """
    kv_indptr, kv_indices, last = [0], [], []
    for table, past, new in zip(group.block_tables, batch.num_past, batch.num_new, strict=True):
        length = past + new
        pages = -(-length // batch.block_size)
        kv_indices += [max(block, 0) for block in table[:pages]]
        kv_indptr.append(len(kv_indices))
        last.append(length - (pages - 1) * batch.block_size)
    return PageTable([*batch.starts, batch.num_tokens], kv_indptr, kv_indices, last)
