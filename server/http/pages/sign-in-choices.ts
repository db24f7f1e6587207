import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Workspace } from '../../core/session/grant.ts'
import type { Language } from '../../texts/language.ts'
import { type Choice, choiceField } from './form-page.ts'

/** Renders a box for each scope that the user can leave out. */
export function scopeBoxes(
  scopes: readonly Choice[],
  { texts }: Language,
  hint: string = texts.login.scopesHint,
): SafeHtml | false {
  return choiceField({ type: 'checkbox', name: 'scope', legend: texts.login.scopesLegend, hint }, scopes)
}

/** Renders a radio button for each workspace. Their names are other people's texts. */
export function workspaceChoice(
  workspaces: readonly Workspace[],
  chosen: string | undefined,
  { texts }: Language,
): SafeHtml | false {
  return choiceField(
    { type: 'radio', name: 'workspace', legend: texts.workspace.legend },
    workspaces.map(({ id, name }) => ({
      value: id,
      text: html`<bdi>${name}</bdi>`,
      ticked: id === chosen,
    })),
  )
}
