import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { alertBox, type AppView, layout, noteBox } from './layout.ts'
import { claimedName, hostName } from './names.ts'
import {
  type ConnectedClient,
  connectionHead,
  formInput,
  permissionDetail,
  type WaitingConnectionView,
  waitingList,
} from './connection-list.ts'
import { alertGlyph, checkGlyph } from './drawings.ts'
import { agoText, dateText, machineTime } from './when.ts'

export interface ConnectionView {
  id: string
  client: ConnectedClient
  permissions: readonly string[]
  /** Hosts that the browser may return to for this client; none for a device. */
  returnsTo: readonly string[]
  createdAt: number
  lastUse: { at: number; address: string | undefined; tool: string | undefined } | undefined
  /** The two addresses that last used it at the same time, and when. */
  twoAddresses: { addresses: readonly [string, string]; at: number } | undefined
  /** True when it returns to websites only: such an app has its own servers, often with many addresses. */
  runsOnWeb: boolean
  /** How often a used key was presented again, and the two addresses it came from, if they differ. */
  replays: { count: number; lastAt: number; addresses: readonly [string, string] | undefined } | undefined
  expiresAt: number
}

export interface EndedConnectionView {
  client: ConnectedClient
  endedAt: number
  end: 'key_used_twice' | 'signed_out_elsewhere' | 'renewal_refused' | 'not_allowed'
}

/** Contents and form target of the connections page. Every text is escaped. */
export interface ConnectionsView extends AppView {
  /** Absolute path that the forms post to. */
  action: string
  connectPath: string
  /** Opaque sealed value that ties the forms to this sign-in and browser; sent in hidden inputs. */
  form: string
  /** Name of the account; undefined if the provider did not say. */
  email: string | undefined
  /** The result of the last form, as a sentence: complete, or about the client of that name. */
  notice: { text: string; isFailure: boolean; about?: string | undefined } | undefined
  connections: readonly ConnectionView[]
  waiting: readonly WaitingConnectionView[]
  /** Live connections omitted from the list. */
  more: number
  ended: readonly EndedConnectionView[]
  now: number
}

/**
 * Renders the page where a user reviews the clients that can use their account: each with its proven facts, its last use with
 * address and tool, and a button to end it. Connections that ended unexpectedly come first, because they may need attention.
 */
export function connectionsPage(view: ConnectionsView): string {
  const { connections, waiting } = view
  const isEmpty = connections.length === 0 && waiting.length === 0
  return layout({
    look: view.look,
    links: view.links,
    title: 'Your connections',
    bridge: isEmpty ? 'raised' : 'lowered',
    gate: html`<h1>Your connections</h1>
      <p class="ask">
        Apps and devices that can use your account at <bdi>${view.appName}</bdi>${
          view.email === undefined ? '' : html`, signed in as <bdi class="account">${view.email}</bdi>`
        }.
      </p>
      <form method="post" action="${view.action}" class="gate-form">
        ${formInput(view)}
        <button class="button on-gate" name="action" value="sign_out">Sign out of this page</button>
      </form>`,
    main: html`<section class="court-inner" aria-label="Connections">
      ${view.notice && noticeLine(view.notice)} ${view.ended.map((ended) => endedNote(ended, view.now))}
      ${waitingList(waiting, view)}
      ${
        isEmpty
          ? html`<div class="heading">
              <h2>No app is connected</h2>
              <p class="quiet">Apps that you connect appear here until you end them or they expire.</p>
              <p><a class="link alone" href="${view.connectPath}">See how to connect one</a></p>
            </div>`
          : connections.length > 0 &&
            html`<h2>${countText(connections.length + view.more)}</h2>
              <ul class="connections">
                ${connections.map((connection, index) => connectionItem(connection, index, view))}
              </ul>`
      }
      ${
        view.more > 0 &&
        html`<p class="quiet">
          ${view.more} older connections are not shown. Ending all connections ends them too.
        </p>`
      }
      ${connections.length + waiting.length > 1 && endAllForm(view)}
      <div class="court-foot">
        <p>Ending a connection does not sign you out of <bdi>${view.appName}</bdi> itself.</p>
        <p><a class="link alone" href="${view.appUrl}">Go to ${view.appName}</a></p>
      </div>
    </section>`,
  })
}

function countText(count: number): string {
  return count === 1 ? 'One connection' : `${count} connections`
}

function noticeLine({ text, isFailure, about }: NonNullable<ConnectionsView['notice']>): SafeHtml {
  return isFailure
    ? html`<p class="alert" role="alert">${alertGlyph} <span>${text}</span></p>`
    : html`<p class="done" role="status">
        ${checkGlyph} <span>${about !== undefined && html`“<bdi>${claimedName(about)}</bdi>” `}${text}</span>
      </p>`
}

function endedNote({ client, endedAt, end }: EndedConnectionView, now: number): SafeHtml {
  const name = clientName(client)
  const when = html`<time datetime="${machineTime(endedAt)}">${agoText(endedAt, now)}</time>`
  switch (end) {
    case 'not_allowed':
      return noteBox(
        html`${name} was disconnected ${when} because your account may no longer use it here. Ask the owner of
        the web app if that is a mistake.`,
      )
    case 'renewal_refused':
      return noteBox(
        html`${name} was disconnected ${when} because the web app no longer renewed its sign-in. Connect it
        again if you still use it.`,
      )
    case 'signed_out_elsewhere':
      return noteBox(
        html`${name} was disconnected ${when} because its sign-in had ended at the web app. This is normal
        after changing a password or signing out everywhere. Connect it again if you still use it.`,
      )
    case 'key_used_twice':
      return alertBox(
        html`<strong>${name} was disconnected for your security</strong> ${when}: its key was used twice, so
          somebody may have copied it. If you did not cause this yourself, for example by restoring a backup,
          check the computer it ran on. Then connect it again.`,
      )
  }
}

function clientName({ name, host }: ConnectedClient): SafeHtml {
  return html`“<bdi>${claimedName(name)}</bdi>”${host !== undefined && html` (${hostName(host)})`}`
}

function connectionItem(connection: ConnectionView, index: number, view: ConnectionsView): SafeHtml {
  const { lastUse, createdAt, expiresAt } = connection
  return html`<li class="connection">
    ${connectionHead(connection, `connection-${index}`, view)}
    ${connection.twoAddresses && atOnceNotice(connection.twoAddresses, connection, view.now)}
    ${connection.replays && addressNotice(connection.replays)}
    <dl class="details">
      ${
        connection.client.describedBy !== undefined &&
        html`<div class="wide">
          <dt>Says it belongs to</dt>
          <dd><span class="address">${connection.client.describedBy}</span></dd>
        </div>`
      }
      ${permissionDetail(connection.permissions)}
      <div class="wide">
        <dt>${connection.returnsTo.length === 0 ? 'Kind' : 'Returns to'}</dt>
        <dd>${returnText(connection.returnsTo)}</dd>
      </div>
      <div class="wide">
        <dt>Last used</dt>
        <dd>${lastUse === undefined ? 'Not yet, or just now' : lastUseText(lastUse, view.now)}</dd>
      </div>
      ${connection.replays && replayDetail(connection.replays, view.now)}
      <div>
        <dt>Connected</dt>
        <dd><time datetime="${machineTime(createdAt)}">${dateText(createdAt)}</time></dd>
      </div>
      <div>
        <dt>Expires</dt>
        <dd><time datetime="${machineTime(expiresAt)}">${dateText(expiresAt)}</time></dd>
      </div>
    </dl>
  </li>`
}

function lastUseText({ at, address, tool }: NonNullable<ConnectionView['lastUse']>, now: number): SafeHtml {
  return html`<time datetime="${machineTime(at)}">${agoText(at, now)}</time>${
      address !== undefined && html` from <span class="address">${address}</span>`
    }${tool !== undefined && html` with <span class="address">${tool}</span>`}`
}

/** Renders a milder notice for an app that runs on the web, which may have caused it itself. */
function atOnceNotice(
  { addresses: [first, other], at }: NonNullable<ConnectionView['twoAddresses']>,
  { runsOnWeb }: ConnectionView,
  now: number,
): SafeHtml {
  const when = html`<time datetime="${machineTime(at)}">${agoText(at, now)}</time>`
  const both = html`<span class="address">${first}</span> and <span class="address">${other}</span>`
  return runsOnWeb
    ? noteBox(
        html`Used from ${both} at the same time, ${when}. Apps that run on the web often have several
        addresses. If this was not you, end this connection.`,
      )
    : alertBox(
        html`<strong>Used from ${both} at the same time</strong>, ${when}. If one of them is not you, end this
          connection.`,
      )
}

function addressNotice({ addresses }: NonNullable<ConnectionView['replays']>): SafeHtml | undefined {
  if (!addresses) return undefined
  const [first, other] = addresses
  return alertBox(
    html`<strong>Used from two addresses.</strong> The same key was sent from
      <span class="address">${first}</span> and from <span class="address">${other}</span>. This can happen
      when a computer changes networks. If that was not you, end this connection.`,
  )
}

function replayDetail({ count, lastAt }: NonNullable<ConnectionView['replays']>, now: number): SafeHtml {
  return html`<div class="wide">
    <dt>Same key sent again</dt>
    <dd>
      ${count === 1 ? 'Once,' : `${count} times, most recently`}
      <time datetime="${machineTime(lastAt)}">${agoText(lastAt, now)}</time>
    </dd>
  </div>`
}

function returnText(hosts: readonly string[]): SafeHtml | string {
  if (hosts.length === 0) return 'A device, connected with a code'
  return html`${hosts.map((host, index) => html`${index > 0 && ', '}<span class="address">${host}</span>`)}`
}

/** Renders two steps without a script: the button that ends everything is hidden until requested. */
function endAllForm(view: ConnectionsView): SafeHtml {
  return html`<details class="end-all">
    <summary class="button secondary">End all connections…</summary>
    <form method="post" action="${view.action}" class="stack">
      ${formInput(view)}
      <p>Every app and device in this list loses access to your account until you connect it again.</p>
      <button class="button danger" name="action" value="end_all">End all connections</button>
    </form>
  </details>`
}
