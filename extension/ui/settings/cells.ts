import { hostOf } from '../../core/site.ts'
import type { ProfileView, Purpose, SettingsNotice } from '../../core/settings/settings-view.ts'
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
  const { id, label, appUrl, baseUrl, cookieName, mayRead, mayTest } = profile
  const setButton = (cell: string, name: string, value: string, ariaLabel: string, isThere = true): void => {
    const button = row.querySelector(`[data-cell=${cell}]`) as HTMLButtonElement
    Object.assign(button, { name, value, ariaLabel, hidden: !isThere })
  }
  const access = (purpose: Purpose, url = '', isAllowed = false): Record<string, string> => {
    const kind = isAllowed ? 'take_back' : 'allow'
    const ariaLabel = translate(`${kind}_name`, hostOf(url))
    setButton(
      `${purpose}-button`,
      isAllowed ? 'take-back' : 'allow',
      `${purpose}:${id}`,
      ariaLabel,
      url !== '',
    )
    return {
      [`${purpose}-url`]: url,
      [`${purpose}-state`]: url && translate(`${purpose}_${isAllowed ? 'allowed' : 'not_allowed'}`),
      [`${purpose}-button`]: translate(kind),
    }
  }
  setButton('edit', 'edit', id, translate('edit_name', label))
  setButton('delete', 'delete', id, translate('delete_name', label))
  return {
    label,
    edit: translate('edit'),
    delete: translate('delete'),
    'read-term': translate('web_app'),
    ...access('read', appUrl, mayRead),
    'test-term': baseUrl ? translate('mcp_server') : '',
    ...access('test', baseUrl, mayTest),
    'cookie-term': cookieName ? translate('session_cookie') : '',
    cookie: cookieName ?? '',
  }
}
