import type { PopupView } from '../core/popup/popup-view.ts'
import { messagePart, type Translate } from './message.ts'
import { find, type Contents } from './slot.ts'

/** A view with one sentence and one or two actions. */
export type NoticeView = Exclude<PopupView, { kind: 'ready' | 'several' }>

/** Shows the sentence, its explanation, the main action and any second one. */
export function renderNotice(root: HTMLElement, view: NoticeView, translate: Translate): Contents {
  if (view.kind === 'loading') return { title: translate('loading_title') }
  const [name, action] = describe(view)
  const second = describeSecond(view)
  const { host = '', project, further, appUrl } = view as Readonly<Partial<Record<string, string>>>
  const texts = [host, project ?? further ?? '']
  ;(find(root, 'main') as HTMLButtonElement).name = action
  return {
    title: translate(`${name}_title`, ...texts),
    detail: translate(`${name}_detail`, ...texts),
    main: translate(`action_${messagePart(action)}`, withoutScheme(appUrl)),
    'second-detail': second && translate(second, further ?? ''),
    second: second && translate('action_allow', further ?? host),
  }
}

/** Returns the text before the second action, a permission. A user who is merely signed out should not grant one. */
function describeSecond(view: NoticeView) {
  if (view.kind === 'no-permission') return view.incognito ? 'hidden_cookie_private' : 'hidden_cookie'
  return view.kind === 'signed-out' && view.further ? 'hidden_cookie_further' : undefined
}

/** Returns the names of its texts, and the action of its button. */
function describe(view: Exclude<NoticeView, { kind: 'loading' }>) {
  switch (view.kind) {
    case 'no-web-page':
      return ['no_web_page', view.appUrl ? 'open-app' : 'settings'] as const
    case 'no-permission':
      return ['no_session', 'read-again'] as const
    case 'signed-out':
      if (view.further) return ['no_session', 'read-again'] as const
      return ['signed_out', view.appUrl ? 'open-app' : 'read-again'] as const
    case 'incomplete':
      return ['incomplete', 'reload'] as const
    case 'corrupt':
      return [`corrupt_${messagePart(view.reason)}`, 'reload'] as const
    case 'expired':
      return view.waiting ? (['waiting', 'read-again'] as const) : (['expired', 'reload'] as const)
  }
}

/** Returns an address without its scheme, as users know it. */
export function withoutScheme(url = ''): string {
  return url.replace(/^https?:\/\//, '')
}
