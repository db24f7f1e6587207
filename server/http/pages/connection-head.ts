import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'
import { claimedName } from './claimed-name.ts'
import { hostName } from './host-name.ts'

/**
 * A client as the list names it: what it calls itself, and the host of its metadata document: as `host` when that proves whose
 * it is, as `describedBy` when any program or device can name it.
 */
export interface ConnectedClient {
  name: string
  host?: string
  describedBy?: string
}

/** Where the forms of the list post to, and what ties them to the sign-in and the browser. */
export interface ConnectionForm {
  action: string
  form: string
}

/** The client of one entry of the list and the button that ends it; `headingId` is unique on the page. */
export function connectionHead(
  { id, client }: { id: string; client: ConnectedClient },
  headingId: string,
  form: ConnectionForm,
): SafeHtml {
  return html`<div class="connection-head">
    <h3 id="${headingId}">
      ${client.host === undefined ? '' : html`${hostName(client.host)} `}<span
        class="${client.host === undefined ? 'own-name' : 'own-name quiet'}"
        >“<bdi>${claimedName(client.name)}</bdi>”</span
      >
    </h3>
    <form method="post" action="${form.action}">
      ${formInput(form)} <input type="hidden" name="connection" value="${id}" />
      <button class="button end" name="action" value="end" aria-describedby="${headingId}">End</button>
    </form>
  </div>`
}

/** The hidden input of every form of the list. */
export function formInput({ form }: Pick<ConnectionForm, 'form'>): SafeHtml {
  return html`<input type="hidden" name="form" value="${form}" />`
}
