/** What a page shows: the text of each `data-slot`, or `true` where its text stays the same. */
export type Contents = Readonly<Record<string, string | boolean | undefined>>

/** The element below `root` that is called `name`. It is there: script and page are made for each other. */
export function find(root: ParentNode, name: string): HTMLElement {
  return root.querySelector(`[data-slot=${name}]`) as HTMLElement
}

/**
 * Shows `contents` and nothing else: slots that it does not name are hidden, and emptied if they are for text. Text is only
 * ever set as text. What is there already is left alone, so that selections stay and screen readers say nothing twice.
 */
export function fill(root: ParentNode, contents: Contents): void {
  for (const element of root.querySelectorAll<HTMLElement>('[data-slot]')) {
    const content = contents[element.dataset['slot'] as string] ?? false
    element.hidden = content === false
    if (content !== true && !element.firstElementChild) setText(element, content || '')
  }
}

/**
 * Makes the list called `name` hold one copy of its `<template>` for each item; `cells` says what stands in the `data-cell`s
 * of that row. Copies that are there are filled anew, not replaced.
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
