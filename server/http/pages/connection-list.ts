import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { claimedName, hostName } from './names.ts'
import { agoText, machineTime } from './when.ts'

/**
 * A client in the list: its own name, and the host of its metadata document: as `host` if that is proven, as `describedBy` if any
 * program or device can name it.
 */
export interface ConnectedClient {
  name: string
  host?: string
  describedBy?: string
}

/** The form target, and the value that ties forms to the sign-in and the browser. */
export interface ConnectionForm {
  action: string
  form: string
}

/**
 * Renders the client of one entry and the form that ends the connection, in two steps without a script: the button is hidden until
 * requested. `headingId` is unique on the page.
 */
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
    </div>
    <details class="end-one">
      <summary class="button end" aria-describedby="${headingId}">End…</summary>
      <form method="post" action="${form.action}" class="stack">
        ${formInput(form)} <input type="hidden" name="connection" value="${id}" />
        <p>It loses access to your account until you connect it again.</p>
        <button class="button danger" name="action" value="end" aria-describedby="${headingId}">
          End this connection
        </button>
      </form>
    </details>`
}

/** Renders what a connection may do; nothing if no text describes it. */
export function permissionDetail(permissions: readonly string[]): SafeHtml | false {
  if (permissions.length === 0) return false
  return html`<div class="wide">
    <dt>Allowed to</dt>
    ${permissions.map((sentence) => html`<dd>${sentence}</dd>`)}
  </div>`
}

/** Renders the hidden input of every form of the list. */
export function formInput({ form }: Pick<ConnectionForm, 'form'>): SafeHtml {
  return html`<input type="hidden" name="form" value="${form}" />`
}

/** An approval that the app or device has not redeemed yet. Times are epoch seconds. */
export interface WaitingConnectionView {
  id: string
  client: ConnectedClient
  isDevice: boolean
  permissions: readonly string[]
  allowedAt: number
}

/** Renders the approvals that are not connected yet; undefined without any. */
export function waitingList(
  waiting: readonly WaitingConnectionView[],
  view: ConnectionForm & { now: number },
): SafeHtml | undefined {
  if (waiting.length === 0) return undefined
  return html`<h2>Allowed, not connected yet</h2>
    <p class="quiet">Each of these can still connect for up to 2 minutes, unless you end it.</p>
    <ul class="connections">
      ${waiting.map((each, index) => waitingItem(each, `waiting-${index}`, view))}
    </ul>`
}

function waitingItem(
  waiting: WaitingConnectionView,
  headingId: string,
  view: ConnectionForm & { now: number },
): SafeHtml {
  const { isDevice, allowedAt, permissions } = waiting
  return html`<li class="connection">
    ${connectionHead(waiting, headingId, view)}
    <dl class="details">
      ${permissionDetail(permissions)}
      <div>
        <dt>Kind</dt>
        <dd>${isDevice ? 'A device, with a code' : 'An app'}</dd>
      </div>
      <div>
        <dt>Allowed</dt>
        <dd><time datetime="${machineTime(allowedAt)}">${agoText(allowedAt, view.now)}</time></dd>
      </div>
    </dl>
  </li>`
}
