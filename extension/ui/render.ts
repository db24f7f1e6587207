import type { PopupAction, PopupView } from '../core/popup/popup-view.ts'
import { localise } from './localise.ts'
import { confined } from './message.ts'
import type { Translate } from './message.ts'
import { createMoments } from './moment.ts'
import { renderNotice } from './notice.ts'
import { renderReady } from './ready.ts'
import { renderSessions } from './sessions.ts'
import { fill } from './slot.ts'

/**
 * Shows a view in the popup's page, of which `root` is the body. Call it again each second: countdowns are counted from
 * `now` (epoch seconds). Elements stay the same from view to view, and with them focus, selection and what is folded out;
 * a view of another kind puts the focus on its main action. That `act` which came first
 * is called in the handler of a click.
 */
export function render(
  root: HTMLElement,
  view: PopupView,
  act: (action: PopupAction) => void,
  translate: Translate,
  now: number = Date.now() / 1000,
): void {
  const { kind } = view
  if (!root.dataset['view']) {
    localise(root, translate)
    root.addEventListener('click', ({ target }) => {
      const { name, value } = (target as Element).closest('button') ?? {}
      // A button's name is the kind of an action, its value what the action is about.
      if (name) act({ kind: name, format: value, sessionId: value, client: value } as PopupAction)
    })
  }
  const say = confined(translate)
  const moments = createMoments(say, now)
  fill(
    root,
    kind === 'ready'
      ? renderReady(root, view, say, moments)
      : kind === 'several'
        ? renderSessions(root, view, say, moments)
        : renderNotice(root, view, say),
  )
  if (root.dataset['view'] === kind) return
  root.dataset['view'] = kind
  // While it looks there is nothing to do, and asking what can be seen would take its time.
  if (kind === 'loading') return
  root.dataset['ready'] = ''
  // Those that are hidden do not take it; of a list it is the first.
  for (const button of root.querySelectorAll<HTMLElement>('[data-main]:not(li+li *)'))
    button.focus({ preventScroll: true })
}
