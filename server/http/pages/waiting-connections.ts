import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'
import { type ConnectedClient, connectionHead, type ConnectionForm } from './connection-head.ts'
import { agoText, machineTime } from './when.ts'

/** What a person allowed, and the app or device has not fetched yet. Times are epoch seconds. */
export interface WaitingConnectionView {
  id: string
  client: ConnectedClient
  isDevice: boolean
  allowedAt: number
}

/** The part of the list that shows what was allowed a moment ago and is not connected yet; undefined when there is nothing. */
export function waitingList(
  waiting: readonly WaitingConnectionView[],
  view: ConnectionForm & { now: number },
): SafeHtml | undefined {
  if (waiting.length === 0) return undefined
  return html`<h2>Allowed, not connected yet</h2>
    <p class="quiet">Each of these can connect to your account for up to 2 minutes, unless you end it.</p>
    <ul class="connections">
      ${waiting.map((each, index) => waitingItem(each, `waiting-${index}`, view))}
    </ul>`
}

function waitingItem(
  waiting: WaitingConnectionView,
  headingId: string,
  view: ConnectionForm & { now: number },
): SafeHtml {
  const { isDevice, allowedAt } = waiting
  return html`<li class="connection">
    ${connectionHead(waiting, headingId, view)}
    <dl class="details">
      <div>
        <dt>Kind</dt>
        <dd>${isDevice ? 'A device, by its code' : 'An app'}</dd>
      </div>
      <div>
        <dt>Allowed</dt>
        <dd><time datetime="${machineTime(allowedAt)}">${agoText(allowedAt, view.now)}</time></dd>
      </div>
    </dl>
  </li>`
}
