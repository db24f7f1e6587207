import type { MessageKey, Translate } from './message.ts'

/** Writes the texts that never change: of elements with `data-text`, and names for those with `data-label`. */
export function localise(root: ParentNode, translate: Translate): void {
  const page = document.documentElement
  page.lang = translate('locale')
  page.dir = translate('direction')
  for (const element of root.querySelectorAll<HTMLElement>('[data-text],[data-label]')) {
    const { text, label } = element.dataset
    if (text) element.textContent = translate(text as MessageKey)
    if (label) element.ariaLabel = translate(label as MessageKey)
  }
}
