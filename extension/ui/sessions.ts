import type { PopupView } from '../core/popup/popup-view.ts'
import { messagePart, type Translate } from './message.ts'
import type { Moments } from './moment.ts'
import { fillList, type Contents } from './slot.ts'

/** Shows the sessions to choose from. */
export function renderSessions(
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
