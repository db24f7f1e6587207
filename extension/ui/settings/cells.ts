import type { ProfileView, Purpose, SettingsNotice, SiteAccess } from '../../core/settings/settings-view.ts'
import { messagePart, type Translate } from '../message.ts'

/** Returns the text of a notice. */
export function noticeText(notice: SettingsNotice, translate: Translate): string {
  switch (notice.kind) {
    case 'none':
      return ''
    case 'saved':
    case 'deleted':
      return translate(`notice_${notice.kind}`, notice.label)
    case 'allowed':
    case 'refused':
    case 'taken-back':
    case 'kept':
      return translate(
        `notice_${messagePart(notice.kind)}`,
        notice.host === '*' ? translate('every_site') : notice.host,
      )
  }
}

/** Returns the content of a profile's card. Sets up its buttons: their subjects, and their names for screen readers. */
export function profileCells(
  profile: ProfileView,
  row: Element,
  translate: Translate,
): Record<string, string> {
  const { id, label, appUrl, baseUrl, cookieName, app, server } = profile
  const setButton = (cell: string, name: string, value: string, ariaLabel: string, isThere = true): void => {
    const button = row.querySelector(`[data-cell=${cell}]`) as HTMLButtonElement
    Object.assign(button, { name, value, ariaLabel, hidden: !isThere })
  }
  const setAccessButton = (cell: string, purpose: Purpose, access: SiteAccess | undefined): string => {
    const { host = '', state } = access ?? {}
    const kind = state === 'allowed' ? 'take_back' : 'allow'
    const name = kind === 'allow' ? 'allow' : 'take-back'
    setButton(cell, name, `${purpose}:${id}`, translate(`${kind}_name`, host), access !== undefined)
    return translate(kind)
  }
  setButton('edit', 'edit', id, translate('edit_name', label))
  setButton('delete', 'delete', id, translate('delete_name', label))
  return {
    label,
    edit: translate('edit'),
    delete: translate('delete'),
    'app-term': translate('web_app'),
    'app-url': appUrl,
    'app-state': translate(`read_${messagePart(app.state)}`),
    'app-button': setAccessButton('app-button', 'read', app),
    'server-term': baseUrl ? translate('mcp_server') : '',
    'server-url': baseUrl ?? '',
    'server-state': server ? translate(`test_${messagePart(server.state)}`) : '',
    'server-button': setAccessButton('server-button', 'test', server),
    'cookie-term': cookieName ? translate('session_cookie') : '',
    cookie: cookieName ?? '',
  }
}
