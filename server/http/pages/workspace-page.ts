import { html } from '@drawbridge/shared/html.ts'
import { formPage } from './form-page.ts'
import { workspaceChoice } from './sign-in-choices.ts'
import { headingWith } from './layout.ts'
import {
  cancelForm,
  type SignInView,
  subjectSummary,
  subjectWords,
  transactionInput,
} from './sign-in-subject.ts'

export interface WorkspaceView extends SignInView {
  /** Two or more, in the order of the app; undefined: the app could not list them, and is asked again. */
  workspaces: readonly { id: string; name: string }[] | undefined
  /** The one that is chosen already. */
  chosen: string | undefined
}

/** Renders the page where a user who has signed in chooses the workspace that a client gets. No script. */
export function workspacePage(view: WorkspaceView): string {
  const words = subjectWords(view)
  const { workspace: texts } = view.language.texts
  const { workspaces } = view
  return formPage(view, {
    id: 'workspace',
    title: texts.title,
    failedTitle: texts.failedTitle,
    gate: subjectSummary(view),
    heading: headingWith(texts.heading, workspaces ? texts.note : texts.waitNote, 'workspace'),
    main: html`<form method="post" action="${view.action}" class="stack">
        ${transactionInput(view)} ${workspaces && workspaceChoice(workspaces, view.chosen, view.language)}
        <button class="button primary" type="submit">${workspaces ? words.confirm : texts.again}</button>
      </form>
      ${cancelForm(view)}`,
  })
}
