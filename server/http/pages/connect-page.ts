import { type ClientRow, type ClientWay, clientTable } from '@drawbridge/shared/clients/client-table.ts'
import { shellWord } from '@drawbridge/shared/clients/add-command.ts'
import { serverNameOf } from '@drawbridge/shared/clients/server-name.ts'
import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { bridgeNeeds } from '@drawbridge/shared/published.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import { copyButton, copyScript, copyScriptSource } from './copy-button.ts'
import {
  type AppView,
  contentSecurityPolicy,
  gateList,
  headingWith,
  layout,
  noteBox,
  type PageView,
} from './layout.ts'
import type { Look } from './look.ts'

/** Contents of the page that users see when they open the MCP endpoint in a browser. Every text is escaped. */
export interface ConnectView extends AppView, PageView {
  url: string
  /** Address for clients that sign in only if connecting requires it, used if there are public tools. */
  challenging: string
  /** The address is on this computer: others cannot use it. */
  isLocal: boolean
  connectionsPath: string
  helpPath: string
  /** The permissions that signing in can give, as plain sentences: the same as on the login page. */
  permissions: readonly string[]
  publicTools: ReadonlySet<string>
}

/** The policy of {@link connectPage}: its one script copies texts. */
export function connectPolicy(look: Look): string {
  return contentSecurityPolicy(look, { script: [copyScriptSource] })
}

/**
 * Renders the page for users who open an address meant for programs: its purpose, its address, and the shortest setup for each
 * client. Reveals nothing to strangers: only public tools, and no accounts.
 */
export function connectPage(view: ConnectView): string {
  const rows = Object.entries(clientTable)
  const linked = rows.filter(([, { ways }]) => ways[0]?.kind === 'link')
  const others = rows
    .filter(([, { ways }]) => ways[0] !== undefined && ways[0].kind !== 'link')
    // Working setups come first.
    .toSorted(([, one], [, other]) => Number(isOutOfReach(one, view)) - Number(isOutOfReach(other, view)))
  const { language, appName, appUrl } = view
  const { common, connect: texts } = language.texts
  const app = html`<bdi>${appName}</bdi>`
  return layout(view, {
    title: fillText(texts.heading, { app: appName }),
    bridge: 'lowering',
    gate: html`<h1>${fillHtml(texts.heading, { app })}</h1>
      <p class="ask">${fillHtml(texts.ask, { app: html`<a class="link" href="${appUrl}">${app}</a>` })}</p>
      <div class="mcp-address">
        <p class="allows">${texts.address}</p>
        <p class="address-line">
          <code class="host" id="address">${view.url}</code>
          ${copyButton('address', { name: texts.copyAddress, label: texts.copy, look: 'on-gate' })}
        </p>
        ${view.isLocal && html`<p class="note">${texts.onlyHere}</p>`}
      </div>
      ${gateList(texts.canDo, view.permissions)}
      ${gateList(
        texts.publicTools,
        [...view.publicTools].map((name) => html`<code>${name}</code>`),
      )}`,
    main: html`<section class="court-inner" aria-label="${texts.clients}">
      ${headingWith(texts.oneClick, texts.oneClickNote)}
      <p class="one-click">${linked.map(([, row]) => linkButton(row, view))}</p>
      <div class="heading later">
        <h2>${texts.others}</h2>
        <p class="quiet">${texts.othersNote}</p>
      </div>
      <div class="clients">
        ${others.map(([id, row]) => row.ways[0] && clientDetails(id, row, row.ways[0], view))}
      </div>
      <div class="court-foot">
        <p>
          ${fillHtml(texts.connected, {
            connections: html`<a class="link" href="${view.connectionsPath}">${common.seeConnections}</a>`,
          })}
        </p>
        <p><a class="link" href="${view.helpPath}">${texts.doesNotConnect}</a></p>
        <p><a class="link alone" href="${appUrl}">${fillHtml(common.goTo, { place: appName })}</a></p>
      </div>
      ${copyScript(texts)}
    </section>`,
  })
}

/** Returns the name for the server in a client. An app that has only the name of its host has none of its own. */
function nameIn({ url, appName, appUrl }: ConnectView): string {
  return serverNameOf(url, appName === URL.parse(appUrl)?.host ? undefined : appName)
}

function isOutOfReach({ isHosted }: ClientRow, { isLocal }: ConnectView): boolean {
  return isLocal && isHosted === true
}

function linkButton({ name, ways: [way] }: ClientRow, view: ConnectView): SafeHtml {
  const { url, language } = view
  const { texts } = language
  const link = way?.text({ name: nameIn(view), url }) ?? ''
  const label = fillText(texts.connect.addTo, { client: name })
  return html`<a class="button secondary" href="${link}" aria-label="${label}">${name}</a> `
}

/** Renders one client; the shared name makes browsers close the one that was open. */
function clientDetails(id: string, row: ClientRow, way: ClientWay, view: ConnectView): SafeHtml {
  const url = row.needsChallenge && view.publicTools.size > 0 ? view.challenging : view.url
  const server = { name: nameIn(view), url }
  const { connect: texts, clients, bridge: needs } = view.language.texts
  const bridge = fillHtml(needs[bridgeNeeds], {})
  // The last row stands for all other clients and has a translated name.
  const client = way.texts === 'stdio' ? clients.stdio.name : row.name
  return html`<details name="client" class="client">
    <summary>
      <span>${client}</span>
      <span class="quiet">${isOutOfReach(row, view) ? texts.outOfReach : texts[way.kind]}</span>
    </summary>
    <div class="client-steps">
      ${isOutOfReach(row, view) && noteBox(fillText(texts.outOfReachNote, { client }))}
      <div class="snippet-head">
        <p>${placeText(row, way, view)}</p>
        ${copyButton(`text-${id}`, { name: fillText(texts.copyFor, { client }), label: texts.copy, look: 'secondary' })}
      </div>
      <pre class="snippet"><code id="text-${id}">${way.text(server)}</code></pre>
      <p>${way.texts && fillHtml(clients[way.texts].next, { name: shellWord(server.name), bridge })}</p>
    </div>
  </details>`
}

function placeText(
  { name }: ClientRow,
  { kind, texts: key }: ClientWay,
  { language }: ConnectView,
): SafeHtml {
  const { connect: texts, clients } = language.texts
  const found: { place?: string; next: string } | undefined = key && clients[key]
  if (found?.place === undefined) return html`${texts.inTerminal}`
  const place = fillHtml(found.place, {})
  if (kind === 'settings') {
    return fillHtml(texts.inSettings, { client: name, place: html`<strong>${place}</strong>` })
  }
  return fillHtml(kind === 'entry' ? texts.inFile : texts.enterAs, { place })
}
