import { type ClientRow, type ClientWay, clientTable } from '@drawbridge/shared/clients/client-table.ts'
import { serverNameOf } from '@drawbridge/shared/clients/server-name.ts'
import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { copyButton, copyScript, copyScriptSource } from './copy-button.ts'
import { type AppView, contentSecurityPolicy, layout, noteBox, withCode } from './layout.ts'
import type { Look } from './look.ts'

/** Contents of the page that users see when they open the MCP endpoint in a browser. Every text is escaped. */
export interface ConnectView extends AppView {
  url: string
  /** Address for clients that sign in only if connecting requires it, used if there are public tools. */
  challenging: string
  /** The address is on this computer: others cannot use it. */
  isLocal: boolean
  connectionsPath: string
  /** What signing in can allow, as plain sentences: the same as on the login page. */
  permissions: readonly string[]
  publicTools: ReadonlySet<string>
}

/** The policy of {@link connectPage}: its one script copies texts. */
export function connectPolicy(look: Look): string {
  return contentSecurityPolicy(look, { script: [copyScriptSource] })
}

/**
 * Renders the page for users who open an address meant for programs: what it is, its address, and the shortest setup for each
 * client. Reveals nothing to strangers: only public tools, and no accounts.
 */
export function connectPage(view: ConnectView): string {
  const rows = Object.entries(clientTable)
  const linked = rows.filter(([, { ways }]) => ways[0]?.kind === 'link')
  const others = rows
    .filter(([, { ways }]) => ways[0] !== undefined && ways[0].kind !== 'link')
    // Working setups come first.
    .toSorted(([, one], [, other]) => Number(isOutOfReach(one, view)) - Number(isOutOfReach(other, view)))
  return layout({
    look: view.look,
    links: view.links,
    title: `Connect an AI client to ${view.appName}`,
    bridge: 'lowering',
    gate: html`<h1>Connect an AI client to <bdi>${view.appName}</bdi></h1>
      <p class="ask">
        AI clients such as Claude or Cursor connect here. You need an account at
        <a class="link" href="${view.appUrl}"><bdi>${view.appName}</bdi></a> and sign in with it once; the
        client can then use it until you end that or it expires.
      </p>
      <div class="mcp-address">
        <p class="allows">Address of the MCP server</p>
        <p class="address-line">
          <code class="host" id="address">${view.url}</code>
          ${copyButton('address', 'Copy the address', 'on-gate')}
        </p>
        ${view.isLocal && html`<p class="note">Only programs on this computer can reach it.</p>`}
      </div>
      ${gateList('What a client can do once you have signed in', view.permissions)}
      ${gateList(
        'Tools that need no sign-in',
        [...view.publicTools].map((name) => html`<code>${name}</code>`),
      )}`,
    main: html`<section class="court-inner" aria-label="Clients">
      <div class="heading">
        <h2>Add with one click</h2>
        <p class="quiet">Your client opens and asks before it adds anything.</p>
      </div>
      <p class="one-click">${linked.map(([, row]) => linkButton(row, view))}</p>
      <div class="heading later">
        <h2>Other clients</h2>
        <p class="quiet">Choose yours. If it is not listed, paste the address where it adds an MCP server.</p>
      </div>
      <div class="clients">
        ${others.map(([id, row]) => row.ways[0] && clientDetails(id, row, row.ways[0], view))}
      </div>
      <div class="court-foot">
        <p>
          Connected already?
          <a class="link" href="${view.connectionsPath}">See or end your connections</a>
        </p>
        <p><a class="link alone" href="${view.appUrl}">Go to ${view.appName}</a></p>
      </div>
      ${copyScript}
    </section>`,
  })
}

function gateList(heading: string, items: readonly (string | SafeHtml)[]): SafeHtml | false {
  if (items.length === 0) return false
  return html`<h2 class="allows">${heading}</h2>
    <ul class="permissions">
      ${items.map((item) => html`<li>${item}</li>`)}
    </ul>`
}

function isOutOfReach({ isHosted }: ClientRow, { isLocal }: ConnectView): boolean {
  return isLocal && isHosted === true
}

function linkButton({ name, ways: [way] }: ClientRow, { url }: ConnectView): SafeHtml {
  const link = way?.text({ name: serverNameOf(url), url }) ?? ''
  return html`<a class="button secondary" href="${link}" aria-label="Add to ${name}">${name}</a> `
}

/** Renders one client; the shared name makes browsers close the one that was open. */
function clientDetails(id: string, row: ClientRow, way: ClientWay, view: ConnectView): SafeHtml {
  const url = row.needsChallenge && view.publicTools.size > 0 ? view.challenging : view.url
  const server = { name: serverNameOf(view.url), url }
  return html`<details name="client" class="client">
    <summary>
      <span>${row.name}</span>
      <span class="quiet">${isOutOfReach(row, view) ? 'Not from this computer' : kindWords[way.kind]}</span>
    </summary>
    <div class="client-steps">
      ${
        isOutOfReach(row, view) &&
        noteBox(
          html`${row.name} calls over the internet and cannot reach this computer. Give the server a public
          address first.`,
        )
      }
      <div class="snippet-head">
        <p>${placeText(row, way)}</p>
        ${copyButton(`text-${id}`, `Copy for ${row.name}`, 'secondary')}
      </div>
      <pre class="snippet"><code id="text-${id}">${way.text(server)}</code></pre>
      <p>${withCode(way.next(server))}</p>
    </div>
  </details>`
}

const kindWords: Readonly<Record<ClientWay['kind'], string>> = {
  link: 'Link',
  command: 'Command',
  entry: 'JSON',
  settings: 'Settings',
}

function placeText({ name }: ClientRow, { kind, place = '' }: ClientWay): SafeHtml {
  if (kind === 'settings') return html`In ${name}, open <strong>${place}</strong>.`
  if (kind === 'entry') return html`Add this to ${withCode(place)}, beside the servers that are there:`
  return place === '' ? html`Run this in a terminal:` : html`Enter this as ${withCode(place)}:`
}
