import { type ClientRow, type ClientWay, clientTable } from '@drawbridge/shared/clients/client-table.ts'
import { serverNameOf } from '@drawbridge/shared/clients/server-name.ts'
import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { copyButton, copyScript, copyScriptSource } from './copy-button.ts'
import { type AppView, contentSecurityPolicy, layout } from './layout.ts'

/** What the page says that people see who open the MCP endpoint in a browser. Every text is escaped. */
export interface ConnectView extends AppView {
  /** Address of the MCP endpoint. */
  url: string
  /** The address is of this computer: nobody else can use it. */
  isLocal: boolean
  /** Path of the page of one's connections. */
  connectionsPath: string
  /** Names of the tools that can be called without signing in. */
  publicTools: ReadonlySet<string>
}

/** The policy of {@link connectPage}: its one script copies texts. */
export const connectPolicy: string = contentSecurityPolicy({ script: [copyScriptSource] })

/**
 * The page for people at the address that is meant for programs: what is here, its address, and for each client the shortest way
 * in. It says nothing that a stranger may not know: of the tools only those that are public, and no accounts.
 */
export function connectPage(view: ConnectView): string {
  const rows = Object.entries(clientTable)
  const linked = rows.filter(([, { ways }]) => ways[0]?.kind === 'link')
  const others = rows.filter(([, { ways }]) => ways[0] !== undefined && ways[0].kind !== 'link')
  return layout({
    links: view.links,
    title: `Connect an AI client to ${view.appName}`,
    bridge: 'lowering',
    gate: html`<h1>Connect an AI client to <bdi>${view.appName}</bdi></h1>
      <p class="ask">
        This is a door for AI clients, such as Claude or Cursor. You sign in once; the client can then use
        your account at <bdi>${view.appName}</bdi> until you end it or it expires.
      </p>
      <div class="mcp-address">
        <p class="allows">Address of the MCP server</p>
        <p class="address-line">
          <code class="host" id="address">${view.url}</code>
          ${copyButton('address', 'Copy the address', 'on-gate')}
        </p>
        ${view.isLocal && html`<p class="note">Only programs on this computer can reach it.</p>`}
        ${
          view.publicTools.size > 0 &&
          html`<p class="note">
            Without signing in, anybody can call
            ${[...view.publicTools].map((name, index) => html`${index > 0 && ', '}<code>${name}</code>`)}.
          </p>`
        }
      </div>`,
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

function linkButton({ name, ways: [way] }: ClientRow, { url }: ConnectView): SafeHtml {
  const link = way?.text({ name: serverNameOf(url), url }) ?? ''
  return html`<a class="button secondary" href="${link}" aria-label="Add to ${name}">${name}</a> `
}

/** One client at a time: the name makes browsers close the one that was open. */
function clientDetails(id: string, row: ClientRow, way: ClientWay, { url, isLocal }: ConnectView): SafeHtml {
  const server = { name: serverNameOf(url), url }
  return html`<details name="client" class="client">
    <summary><span>${row.name}</span> <span class="quiet">${kindWords[way.kind]}</span></summary>
    <div class="client-steps">
      ${
        row.isHosted &&
        isLocal &&
        html`<p class="note-box">
          <span
            >${row.name} calls over the internet and cannot reach this computer. Give the server a public
            address first.</span
          >
        </p>`
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

/** What stands between backticks as code. */
function withCode(text: string): SafeHtml {
  return html`${text.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`
}
