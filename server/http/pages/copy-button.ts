import { createHash } from 'node:crypto'
import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'

// The clipboard is there on https and on this computer only; elsewhere the text is selected, for the person to copy.
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
      say('Copied')
    } catch {
      getSelection().selectAllChildren(source)
      say('Selected')
    }
  })
}
`

/** The script of a page with {@link copyButton}, as a source of its Content-Security-Policy. */
export const copyScriptSource: string = `'sha256-${createHash('sha256').update(script).digest('base64')}'`

/** The script that makes copy buttons work, and where it says so to people who do not see them. To be put behind the last one. */
export const copyScript: SafeHtml = html`<p class="unseen" role="status" id="copy-status"></p>
  ${rawHtml(`<script>${script}</script>`)}`

/**
 * A button that copies the text of the element with the id `source`. It shows itself when the script has run: without scripts
 * there would be nothing to press it for. The name is for people who do not see what it stands beside.
 */
export function copyButton(source: string, name: string, look: 'secondary' | 'on-gate'): SafeHtml {
  return html`<button
    type="button"
    class="button copy ${look}"
    data-copies="${source}"
    aria-label="${name}"
    hidden
  >
    Copy
  </button>`
}
