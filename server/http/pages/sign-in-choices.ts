import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Workspace } from '../../core/session/grant.ts'
import type { Language } from '../../texts/language.ts'

/** A scope that the user can leave out, with what it allows. */
export interface ScopeBoxView {
  scope: string
  text: string
  ticked: boolean
}

/** Renders a box for each scope. */
export function scopeBoxes(
  scopes: readonly ScopeBoxView[],
  { texts }: Language,
  hint: string = texts.login.scopesHint,
): SafeHtml {
  return html`<fieldset class="choices" aria-describedby="scopes-hint">
    <legend>${texts.login.scopesLegend}</legend>
    <p class="quiet" id="scopes-hint">${hint}</p>
    ${scopes.map(
      ({ scope, text, ticked }) =>
        html`<label class="choice"
          ><input type="checkbox" name="scope" value="${scope}" ${ticked && html`checked`} /><span
            >${text}</span
          ></label
        >`,
    )}
  </fieldset>`
}

/** Renders a radio button for each workspace. Their names are other people's texts. */
export function workspaceChoice(
  workspaces: readonly Workspace[],
  chosen: string | undefined,
  { texts }: Language,
): SafeHtml {
  return html`<fieldset class="choices">
    <legend>${texts.workspace.legend}</legend>
    ${workspaces.map(
      ({ id, name }) =>
        html`<label class="choice"
          ><input
            type="radio"
            name="workspace"
            value="${id}"
            required
            ${id === chosen && html`checked`}
          /><bdi>${name}</bdi></label
        >`,
    )}
  </fieldset>`
}
