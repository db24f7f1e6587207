import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { AccountNotice, AccountSession } from '../../core/sign-in/account-session.ts'
import type { EndedConnection } from '../../core/session/connection.ts'
import type { GrantRecord } from '../../core/session/grant.ts'
import type { Language } from '../../texts/language.ts'
import { fillHtml } from '../../texts/text.ts'
import {
  alertBox,
  aloneLink,
  type AppView,
  fact,
  headingWith,
  layout,
  noteBox,
  type PageView,
} from './layout.ts'
import { quotedName } from './names.ts'
import {
  clientName,
  connectionHead,
  dayTime,
  formInput,
  type ListedGrant,
  permissionDetail,
  timeAgo,
  type WaitingConnectionView,
  waitingList,
} from './connection-list.ts'
import { type TokenFormView, tokenForm } from './token-page.ts'
import type { ClientView } from './client-facts.ts'
import { alertGlyph, checkGlyph } from './drawings.ts'

export interface ConnectionView
  extends ListedGrant<'expiresAt' | 'workspace'>, Pick<GrantRecord, 'lastUse' | 'twoAddresses' | 'replays'> {
  /** Hosts that the browser may return to for this client; none for a device. */
  returnsTo: readonly string[]
  /** True when it returns to websites only: such an app has its own servers, often with many addresses. */
  runsOnWeb: boolean
  /** A token that the user made. */
  isToken?: boolean
  /** There is a page that changes it. */
  canChange: boolean
}

interface EndedConnectionView extends Pick<EndedConnection, 'endedAt' | 'end'> {
  client: ClientView
}

/** Contents and form target of the connections page. Every text is escaped. */
export interface ConnectionsView extends AppView, PageView, Pick<AccountSession, 'email' | 'notice'> {
  /** Absolute path that the forms post to. */
  action: string
  connectPath: string
  /** Opaque sealed value that ties the forms to this sign-in and browser; sent in hidden inputs. */
  form: string
  connections: readonly ConnectionView[]
  waiting: readonly WaitingConnectionView[]
  /** What a personal token can be made with; undefined where there are none. */
  tokens?: TokenFormView | undefined
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
  const { connections, waiting, language } = view
  const { common, connections: texts } = language.texts
  const app = html`<bdi>${view.appName}</bdi>`
  const isEmpty = connections.length === 0 && waiting.length === 0
  return layout(view, {
    title: texts.heading,
    bridge: isEmpty ? 'raised' : 'lowered',
    gate: html`<h1>${texts.heading}</h1>
      <p class="ask">
        ${
          view.email === undefined
            ? fillHtml(texts.ask, { app })
            : fillHtml(texts.askOf, { app, email: html`<bdi class="account">${view.email}</bdi>` })
        }
      </p>
      <form method="post" action="${view.action}" class="gate-form">
        ${formInput(view)}
        <button class="button on-gate" name="action" value="sign_out">${texts.signOut}</button>
      </form>`,
    main: html`<section class="court-inner" aria-label="${texts.label}">
      ${view.notice && noticeLine(view.notice, language)} ${view.ended.map((ended) => endedNote(ended, view))}
      ${waitingList(waiting, view)}
      ${
        isEmpty
          ? html`${headingWith(texts.none, texts.noneNote)} ${aloneLink(view.connectPath, texts.howToConnect)}`
          : connections.length > 0 &&
            html`<h2>${language.counted(texts.count, connections.length + view.more)}</h2>
              <ul class="connections">
                ${connections.map((connection, index) => connectionItem(connection, index, view))}
              </ul>`
      }
      ${view.more > 0 && html`<p class="quiet">${language.counted(texts.more, view.more)}</p>`}
      ${view.tokens && tokenForm(view.tokens, view)}
      ${connections.length + waiting.length > 1 && endAllForm(view)}
      <div class="court-foot">
        ${!isEmpty && html`<p>${fillHtml(texts.staysSignedIn, { app })}</p>`}
        ${aloneLink(view.appUrl, fillHtml(common.goTo, { place: view.appName }))}
      </div>
    </section>`,
  })
}

const alertKinds: ReadonlySet<AccountNotice> = new Set([
  'form_refused',
  'change_refused',
  'not_changed',
  'token_refused',
  'too_many_tokens',
])

function noticeLine(
  { kind, clientName }: NonNullable<ConnectionsView['notice']>,
  language: Language,
): SafeHtml {
  const { common, connections } = language.texts
  const client = quotedName(clientName ?? common.unnamedApp, language)
  const text = fillHtml(connections.notices[kind], { client })
  return alertKinds.has(kind)
    ? html`<p class="alert" role="alert">${alertGlyph} <span>${text}</span></p>`
    : html`<p class="done" role="status">${checkGlyph} <span>${text}</span></p>`
}

function endedNote(
  { client: of, endedAt, end }: EndedConnectionView,
  { now, language }: ConnectionsView,
): SafeHtml {
  const texts = language.texts.connections
  const client = clientName(of, language)
  const when = timeAgo(endedAt, now, language)
  if (end === 'key_used_twice') {
    const notice = html`<strong>${fillHtml(texts.keyUsedTwiceNotice, { client })}</strong>`
    return alertBox(fillHtml(texts.keyUsedTwice, { notice, when }))
  }
  const calm = {
    not_allowed: texts.notAllowed,
    renewal_refused: texts.renewalRefused,
    signed_out_elsewhere: texts.signedOutElsewhere,
  }
  return noteBox(fillHtml(calm[end], { client, when }))
}

function connectionItem(connection: ConnectionView, index: number, view: ConnectionsView): SafeHtml {
  const { lastUse, grant } = connection
  const { language } = view
  const texts = language.texts.connections
  return html`<li class="connection">
    ${connectionHead(connection, `connection-${index}`, view)} ${addressNotice(connection, view)}
    <dl class="details">
      ${
        connection.client.describedBy !== undefined &&
        fact(language.texts.client.saysItBelongsTo, asAddress(connection.client.describedBy), true)
      }
      ${permissionDetail(connection.permissions, language)}
      ${grant.workspace && fact(language.texts.workspace.legend, html`<bdi>${grant.workspace.name}</bdi>`, true)}
      ${
        connection.returnsTo.length === 0
          ? fact(texts.kind, connection.isToken ? language.texts.token.kind : texts.device, true)
          : fact(language.texts.subject.returnsTo, returnText(connection.returnsTo), true)
      }
      ${fact(texts.lastUsed, lastUse === undefined ? texts.neverUsed : lastUseText(lastUse, view), true)}
      ${connection.replays && replayDetail(connection.replays, view)}
      ${fact(texts.connected, dayTime(grant.createdAt, language))}
      ${fact(texts.expires, dayTime(grant.expiresAt, language))}
    </dl>
    ${
      connection.canChange &&
      html`<p>
        <a
          class="link"
          href="${view.action}?change=${encodeURIComponent(grant.id)}"
          aria-describedby="connection-${index}"
          >${texts.change}</a
        >
      </p>`
    }
  </li>`
}

function lastUseText(
  lastUse: NonNullable<ConnectionView['lastUse']>,
  { now, language }: ConnectionsView,
): SafeHtml {
  const texts = language.texts.connections
  const when = timeAgo(lastUse.usedAt, now, language)
  const address = lastUse.address !== undefined && asAddress(lastUse.address)
  const tool = lastUse.tool !== undefined && asAddress(lastUse.tool)
  if (address && tool) return fillHtml(texts.usedFromWith, { when, address, tool })
  if (address) return fillHtml(texts.usedFrom, { when, address })
  return tool ? fillHtml(texts.usedWith, { when, tool }) : when
}

function asAddress(text: string): SafeHtml {
  return html`<span class="address">${text}</span>`
}

/**
 * Renders one notice about addresses: of the key that was sent from two, or of their use at the same time. That one is milder for an
 * app that runs on the web, which may have caused it itself.
 */
function addressNotice(
  { replays, twoAddresses, runsOnWeb }: ConnectionView,
  { now, language }: ConnectionsView,
): SafeHtml | undefined {
  const texts = language.texts.connections
  const both = ([one, other]: readonly [string, string]) => ({ one: asAddress(one), other: asAddress(other) })
  const when = twoAddresses && timeAgo(twoAddresses.at, now, language)
  const atOnce =
    twoAddresses && html`<strong>${fillHtml(texts.atOnceNotice, both(twoAddresses.addresses))}</strong>`
  if (replays?.addresses) {
    const notice = atOnce ? html`${atOnce}, ${when}.` : html`<strong>${texts.twoAddressesNotice}</strong>`
    return alertBox(fillHtml(texts.twoAddresses, { notice, ...both(replays.addresses) }))
  }
  if (!twoAddresses || !atOnce || !when) return undefined
  if (runsOnWeb) return noteBox(fillHtml(texts.atOnceOnWeb, { ...both(twoAddresses.addresses), when }))
  return alertBox(fillHtml(texts.atOnce, { notice: atOnce, when }))
}

function replayDetail(
  { count, lastAt }: NonNullable<ConnectionView['replays']>,
  { now, language }: ConnectionsView,
): SafeHtml {
  const texts = language.texts.connections
  const text = language.formOf(texts.sentAgainCount, count)
  return fact(texts.sentAgain, fillHtml(text, { count, when: timeAgo(lastAt, now, language) }), true)
}

function returnText(hosts: readonly string[]): SafeHtml {
  return html`${hosts.map((host, index) => html`${index > 0 && ', '}${asAddress(host)}`)}`
}

/** Renders two steps without a script: the button that ends everything is hidden until requested. */
function endAllForm(view: ConnectionsView): SafeHtml {
  const texts = view.language.texts.connections
  return html`<details class="end-all">
    <summary class="button secondary">${texts.endAllAsk}</summary>
    <form method="post" action="${view.action}" class="stack">
      ${formInput(view)}
      <p>${texts.endAllNote}</p>
      <button class="button danger" name="action" value="end_all">${texts.endAll}</button>
    </form>
  </details>`
}
