import { createHash } from 'node:crypto'
import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Texts } from '../../texts/built-in.ts'

// The clipboard is available over https and on this computer only; elsewhere the text is selected, for the user to copy.
const script = `
const status = document.getElementById('copy-status')
for (const button of document.querySelectorAll('button[data-copies]')) {
  const label = button.textContent
  const say = (text) => {
    button.textContent = status.textContent = text
    setTimeout(() => { button.textContent = label; status.textContent = '' }, 3000)
  }
  button.hidden = false
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copies)
    try {
      await navigator.clipboard.writeText(source.textContent)
      say(status.dataset.copied)
    } catch {
      getSelection().selectAllChildren(source)
      say(status.dataset.selected)
    }
  })
}
`

/** Hash of the script of a page with {@link copyButton}, as a source of its Content-Security-Policy. */
export const copyScriptSource: string = `'sha256-${createHash('sha256').update(script).digest('base64')}'`

/** The script that makes copy buttons work, and the status line for screen readers. Place it after the last button. */
export function copyScript({ copied, selected }: Pick<Texts['connect'], 'copied' | 'selected'>): SafeHtml {
  return html`<p
      class="unseen"
      role="status"
      id="copy-status"
      data-copied="${copied}"
      data-selected="${selected}"
    ></p>
    ${rawHtml(`<script>${script}</script>`)}`
}

/**
 * Renders a button that copies the text of the element with the id `source`. Hidden until the script has run: without scripts it
 * would do nothing. `name` labels it for screen readers.
 */
export function copyButton(
  source: string,
  { name, label, look }: { name: string; label: string; look: 'secondary' | 'on-gate' },
): SafeHtml {
  return html`<button
    type="button"
    class="button copy ${look}"
    data-copies="${source}"
    aria-label="${name}"
    hidden
  >
    ${label}
  </button>`
}
