/** Content of a page: the text of each `data-slot`, or `true` where its text is static. */
export type Contents = Readonly<Record<string, string | boolean | undefined>>

/** Returns the element below `root` called `name`, which must exist. */
export function find(root: ParentNode, name: string): HTMLElement {
  return root.querySelector(`[data-slot=${name}]`) as HTMLElement
}

/**
 * Shows exactly `contents`: hides other slots, and empties those for text. Sets text only as text. Leaves unchanged
 * content alone, so that selections stay and screen readers repeat nothing.
 */
export function fill(root: ParentNode, contents: Contents): void {
  for (const element of root.querySelectorAll<HTMLElement>('[data-slot]')) {
    const content = contents[element.dataset['slot'] as string] ?? false
    element.hidden = content === false
    if (content !== true && !element.firstElementChild) setText(element, content || '')
  }
}

/**
 * Fills the list called `name` with one copy of its `<template>` per item; `cells` returns the content of the row's
 * `data-cell`s. Reuses existing copies.
 */
export function fillList<Item>(
  root: ParentNode,
  name: string,
  items: readonly Item[],
  cells: (item: Item, row: Element) => Readonly<Record<string, string>>,
): void {
  const list = root.querySelector(`[data-list=${name}]`) as HTMLElement
  const template = list.firstElementChild as HTMLTemplateElement
  while (list.childElementCount > items.length + 1) list.lastElementChild?.remove()
  while (list.childElementCount <= items.length) list.append(template.content.cloneNode(true))
  for (const [index, item] of items.entries()) {
    const row = list.children[index + 1] as Element
    const texts = cells(item, row)
    for (const cell of row.querySelectorAll<HTMLElement>('[data-cell]')) {
      setText(cell, texts[cell.dataset['cell'] as string] as string)
    }
  }
}

function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** Opens or closes a dialog. The browser moves the focus into it and back. */
export function setOpen(dialog: HTMLDialogElement, isOpen: boolean): void {
  if (isOpen && !dialog.open) dialog.showModal()
  if (!isOpen && dialog.open) dialog.close()
}
