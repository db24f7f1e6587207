import type { ProfileChange } from '../../core/settings/settings-file.ts'
import type { ProfilesView } from '../../core/settings/settings-view.ts'
import type { MessageKey, Translate } from '../message.ts'
import type { Contents } from '../slot.ts'

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
