import type { PopupView } from '../core/popup/popup-view.ts'
import { messagePart } from './message.ts'
import type { Translate } from './message.ts'
import { find } from './slot.ts'
import type { Contents } from './slot.ts'

/** A view that is one sentence and one action. */
export type NoticeView = Exclude<PopupView, { kind: 'ready' | 'several' }>

/** The sentence, what to know about it, and the one thing to do. */
export function renderNotice(root: HTMLElement, view: NoticeView, translate: Translate): Contents {
  if (view.kind === 'loading') return { title: translate('loading_title') }
  const [name, action] = describe(view)
  const { host = '', project, further, appUrl } = view as Readonly<Partial<Record<string, string>>>
  const texts = [host, project ?? further ?? '']
  ;(find(root, 'main') as HTMLButtonElement).name = action
  return {
    title: translate(`${name}_title`, ...texts),
    detail: translate(`${name}_detail`, ...texts),
    main: translate(
      `action_${messagePart(action)}`,
      action === 'open-app' ? withoutScheme(appUrl) : (further ?? host),
    ),
  }
}

/** What its texts are called, and the action that its button stands for. */
function describe(view: Exclude<NoticeView, { kind: 'loading' }>) {
  switch (view.kind) {
    case 'no-web-page':
      return ['no_web_page', view.appUrl ? 'open-app' : 'settings'] as const
    case 'no-permission':
      return [view.incognito ? 'no_permission_private' : 'no_permission', 'allow'] as const
    case 'signed-out':
      if (view.further) return ['signed_out_further', 'allow'] as const
      return ['signed_out', view.appUrl ? 'open-app' : 'read-again'] as const
    case 'incomplete':
      return ['incomplete', 'reload'] as const
    case 'corrupt':
      return [`corrupt_${messagePart(view.reason)}`, 'reload'] as const
    case 'expired':
      return view.waiting ? (['waiting', 'read-again'] as const) : (['expired', 'reload'] as const)
  }
}

/** An address as people know it. */
export function withoutScheme(url = ''): string {
  return url.replace(/^https?:\/\//, '')
}
