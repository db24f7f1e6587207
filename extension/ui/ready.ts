import type { ReadyView } from '../core/popup/popup-view.ts'
import { renderConnectionTest } from './connection-test.ts'
import type { Translate } from './message.ts'
import type { Moments } from './moment.ts'
import { withoutScheme } from './notice.ts'
import { fillList, find, type Contents } from './slot.ts'

/** Shows a session whose token can be copied. The page contains the token only while it is revealed. */
export function renderReady(
  root: HTMLElement,
  view: ReadyView,
  translate: Translate,
  moments: Moments,
): Contents {
  const { session, host, profile, masked, revealed, claims } = view
  const { account, project, expiresAt } = session
  const server = withoutScheme(profile.server)
  const end = expiresAt === undefined ? '_endless' : ''
  const minutes = moments.minutesLeft(expiresAt ?? 0)
  const reveal = revealed === undefined ? 'reveal' : 'hide'
  ;(find(root, 'reveal') as HTMLButtonElement).name = reveal
  for (const button of root.querySelectorAll<HTMLButtonElement>('[name=copy]')) {
    button.classList.toggle('copied', button.value === view.copied)
  }
  fillList(root, 'claims', claims, ({ name, value, at }) => ({
    name,
    value: at === undefined ? value : moments.date(at),
  }))
  return {
    lead: account && translate('signed_in_as'),
    title: account ?? translate('signed_in'),
    label: profile.label === host ? translate('web_app') : profile.label,
    host,
    project,
    others: view.hasOthers,
    'ends-soon': moments.isSoon(expiresAt),
    timer: moments.left(expiresAt),
    masked,
    revealed,
    reveal: translate(reveal),
    'copy-failed': view.copyFailed && translate('copy_failed'),
    status: copyStatus(root, view, translate, (name) => translate(`copied${end}`, name, minutes)),
    'quick-test-time': translate(`quick_test_time${end}`, minutes),
    'server-row': Boolean(server),
    server,
    'with-server': Boolean(server),
    'no-server': !server && !view.announced,
    ...announcement(view),
    ...renderConnectionTest(root, view.test, server, translate),
  }
}

/** Shows the server that the page announces, with a warning on another host. */
function announcement({ announced }: ReadyView): Contents {
  if (!announced) return {}
  const { server, isOtherHost } = announced
  return {
    announced: true,
    'announced-here': !isOtherHost,
    'announced-elsewhere': isOtherHost,
    'announced-server': withoutScheme(server),
  }
}

/** Returns the status after copying: the button's name, and a note for the user. */
function copyStatus(
  root: HTMLElement,
  { copied }: ReadyView,
  translate: Translate,
  withToken: (name: string) => string,
): string {
  if (!copied) return ''
  if (copied === 'token') return withToken(translate('token'))
  const name = root.querySelector(`[value=${copied}]`)?.textContent ?? ''
  if (copied.startsWith('config')) return translate('copied_config', name)
  return copied.startsWith('test') ? translate('copied_test', name) : withToken(name)
}
