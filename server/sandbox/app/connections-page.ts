import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { checkGlyph } from '../../http/pages/drawings.ts'
import { choiceField } from '../../http/pages/form-page.ts'
import { aloneLink, fact, headingWith } from '../../http/pages/layout.ts'
import { appPage, type DemoView } from './page.ts'

/** One connection, as the API of Drawbridge describes it: the part that the page shows. */
export interface Connection {
  id: string
  client: { name: string | null }
  /** Separated by blanks. */
  scope: string
  workspace: { name: string } | null
}

/** What every assistant may: it is no choice. */
const fixedScope = 'mcp'

/** Renders the assistants that can use the account, each with a form that takes scopes back or disconnects it. */
export function connectionsPage(
  view: DemoView,
  { connections, notice = '' }: { connections: readonly Connection[]; notice?: string | undefined },
): string {
  const { connections: texts, notes } = view.texts
  const done = notice === 'saved' || notice === 'ended' ? texts[notice] : undefined
  return appPage(view, {
    title: texts.title,
    about: texts.about,
    error: notice === 'failed' ? texts.failed : undefined,
    main: html`${done !== undefined && html`<p class="done" role="status">${checkGlyph} <span>${done}</span></p>`}
    ${
      connections.length === 0
        ? headingWith(texts.none, texts.noneNote)
        : html`${headingWith(texts.allowed, texts.allowedNote)}
            <ul class="connections">
              ${connections.map((connection) => connectionItem(view, connection))}
            </ul>`
    }
    ${aloneLink('/notes', notes.title)}`,
  })
}

function connectionItem(view: DemoView, connection: Connection): SafeHtml {
  const { connections: texts } = view.texts
  const { id, client, workspace } = connection
  const heading = `client-${id}`
  const boxes = connection.scope.split(' ').filter((scope) => scope !== fixedScope)
  return html`<li class="connection">
    <h3 id="${heading}"><bdi>${client.name ?? texts.unnamed}</bdi></h3>
    ${workspace && html`<dl class="details">${fact(texts.workspace, html`<bdi>${workspace.name}</bdi>`, true)}</dl>`}
    <form class="stack later" method="post" action="/connections">
      <input type="hidden" name="id" value="${id}" />
      <input type="hidden" name="scope" value="${fixedScope}" />
      ${
        boxes.length > 0 &&
        html`${choiceField(
            { type: 'checkbox', name: 'scope', legend: texts.scopes },
            boxes.map((scope) => ({ value: scope, text: scope, ticked: true })),
          )} <button class="button primary" aria-describedby="${heading}">${texts.save}</button>`
      }
      <button class="button end" name="action" value="end" aria-describedby="${heading}">${texts.end}</button>
    </form>
  </li>`
}
