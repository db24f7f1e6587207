import type { PopupAction, PopupView } from '../core/popup/popup-view.ts'
import { confined, localise, messagePart, type Translate } from './message.ts'
import { createMoments, type Moments } from './moment.ts'
import { renderNotice } from './notice.ts'
import { renderReady } from './ready.ts'
import { type Contents, fill, fillList } from './slot.ts'

/**
 * Shows a view in the popup's page, whose body is `root`. Call it again each second: countdowns are relative to `now`
 * (epoch seconds). Keeps elements from view to view, and with them focus, selection and expanded sections; a view of
 * another kind focuses its main action. Calls the `act` of the first call in the click handler.
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
      // A button's name is the kind of action, its value the subject.
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
  // While loading there is nothing to focus, and checking visibility takes time.
  if (kind === 'loading') return
  root.dataset['ready'] = ''
  // Hidden ones do not accept focus; in a list, the first one gets it.
  for (const button of root.querySelectorAll<HTMLElement>('[data-main]:not(li+li *)'))
    button.focus({ preventScroll: true })
}

/** Shows the sessions to choose from. */
function renderSessions(
  root: HTMLElement,
  { host, sessions }: PopupView & { kind: 'several' },
  translate: Translate,
  moments: Moments,
): Contents {
  fillList(root, 'sessions', sessions, ({ id, account, project, issuer, place, expiresAt }, row) => {
    ;(row.firstElementChild as HTMLButtonElement).value = id
    return {
      account: account ?? translate('no_account'),
      project: issuer ? `${project} · ${issuer}` : project,
      place: translate(`place_${messagePart(place)}`),
      left: translate('time_left', moments.left(expiresAt)),
    }
  })
  return { title: translate('several_title', host) }
}
