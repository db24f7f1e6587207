import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Workspace } from '../../core/session/grant.ts'
import { fillHtml } from '../../texts/text.ts'
import { clientName, type ConnectionForm, formInput } from './connection-list.ts'
import type { ClientView } from './client-facts.ts'
import { type Choice, formPage } from './form-page.ts'
import { type AppView, headingWith } from './layout.ts'
import { scopeBoxes, workspaceChoice } from './sign-in-choices.ts'

export interface ChangeView extends AppView, ConnectionForm {
  connectionId: string
  client: ClientView
  /** The optional scopes that the connection has, with what each allows. */
  scopes: readonly Choice[]
  /** Fewer than two: there is nothing to choose. Undefined: the app could not list them. */
  workspaces: readonly Workspace[] | undefined
  workspace: Workspace | undefined
}

/** Renders the page where a user takes scopes back from a connection, or gives it another workspace. No script. */
export function changePage(view: ChangeView): string {
  const { workspaces, workspace, scopes, language } = view
  const { connections: texts, failures } = language.texts
  const hasChoice = workspaces && workspaces.length > 1
  return formPage(
    { ...view, error: workspaces ? undefined : failures.workspaces_unavailable },
    {
      id: 'change',
      title: texts.changeTitle,
      failedTitle: language.texts.workspace.failedTitle,
      gate: html`<h1>${texts.changeTitle}</h1>
        <p class="ask">${fillHtml(texts.changeAsk, { client: clientName(view.client, language) })}</p>`,
      heading: headingWith(texts.changeHeading, texts.changeNote, 'change'),
      main: html`<form method="post" action="${view.action}" class="stack">
          ${formInput(view)} <input type="hidden" name="connection" value="${view.connectionId}" />
          ${scopeBoxes(scopes, language)} ${hasChoice && workspaceChoice(workspaces, workspace?.id, language)}
          <button class="button primary" name="action" value="change">${texts.save}</button>
        </form>
        ${backLink(view)}`,
    },
  )
}

function backLink({ action, language }: ChangeView): SafeHtml {
  return html`<a class="button plain" href="${action}">${language.texts.connections.keep}</a>`
}
