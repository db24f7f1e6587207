import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'

/** What signing in allows, one sentence each; nothing when there is nothing to say. */
export function permissionList(permissions: readonly string[]): SafeHtml | false {
  if (permissions.length === 0) return false
  return html`<h2 class="allows">What signing in allows</h2>
    <ul class="permissions">
      ${permissions.map((sentence) => html`<li>${sentence}</li>`)}
    </ul>`
}
