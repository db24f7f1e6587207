import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'

/**
 * A host as a fact to rely on: never shortened, kept apart from the direction of the text around it. From four labels
 * on, all but the last three are quieter, so that `claude.ai.example.co.uk` does not read as `claude.ai`.
 * Not checked: that it is a host at all; a scheme is shown in the same way.
 */
export function hostName(host: string): SafeHtml {
  const labels = host.split('.')
  if (labels.length < 4 || /^[\d.:]+$/.test(host)) return html`<bdi class="host">${host}</bdi>`
  const owner = labels.splice(-3).join('.')
  return html`<bdi class="host"><span class="subdomain">${labels.join('.')}.</span><wbr />${owner}</bdi>`
}
