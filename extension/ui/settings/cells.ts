import type { ProfileChange } from '../../core/settings/settings-file.ts'
import type {
  ProfilesView,
  ProfileView,
  Purpose,
  SettingsNotice,
  SiteAccess,
} from '../../core/settings/settings-view.ts'
import { type MessageKey, messagePart, type Translate } from '../message.ts'
import type { Contents } from '../slot.ts'

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
    case 'imported': {
      // Our languages have only these two; one with more adds texts of the same pattern.
      const plural = new Intl.PluralRules(translate('locale')).select(notice.count) as 'one' | 'other'
      return translate(`notice_imported_${plural}`, String(notice.count))
    }
    case 'not-imported':
      return translate(`import_${messagePart(notice.reason)}`, String(notice.position))
  }
}

/** Returns the texts of the import confirmation, except for the list. */
export function importContents(importing: ProfilesView['importing'], translate: Translate): Contents {
  if (importing === undefined || importing.kept.length === 0) return {}
  return { 'import-kept': translate('import_kept', importing.kept.join(', ')) }
}

/** Returns the row of one change: the new values, and below them the old ones that differ. */
export function changeCells({ before, after }: ProfileChange, translate: Translate): Record<string, string> {
  const none = translate('import_none')
  const rowOf = (cell: string, term: MessageKey, was: string | undefined, will: string | undefined) => {
    const isChanged = before !== undefined && was !== will
    if (was === undefined && will === undefined)
      return { [`${cell}-term`]: '', [cell]: '', [`${cell}-before`]: '' }
    return {
      [`${cell}-term`]: translate(term),
      [cell]: will ?? none,
      [`${cell}-before`]: isChanged ? translate('import_before', was ?? none) : '',
    }
  }
  return {
    label: after.label,
    state: translate(before === undefined ? 'import_new' : 'import_changed'),
    'label-before':
      before !== undefined && before.label !== after.label ? translate('import_before', before.label) : '',
    'app-term': translate('web_app'),
    'app-url': after.appUrl,
    ...rowOf('server', 'mcp_server', before?.baseUrl, after.baseUrl),
    ...rowOf('cookie', 'session_cookie', before?.cookieName, after.cookieName),
  }
}

/** Returns the content of a profile's card. Sets up its buttons: their subjects, and their names for screen readers. */
export function profileCells(
  profile: ProfileView,
  row: Element,
  translate: Translate,
): Record<string, string> {
  const { id, label, appUrl, baseUrl, cookieName, builtIn, app, server } = profile
  const setButton = (
    cell: string,
    name: string,
    value: string,
    ariaLabel: string,
    isThere: boolean,
  ): void => {
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
  setButton('edit', 'edit', id, translate('edit_name', label), true)
  setButton('delete', 'delete', id, translate('delete_name', label), !builtIn)
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
