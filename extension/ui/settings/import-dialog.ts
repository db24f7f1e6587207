import type { ProfileChange } from '../../core/settings/settings-file.ts'
import type { ProfilesView } from '../../core/settings/settings-view.ts'
import type { MessageKey, Translate } from '../message.ts'
import type { Contents } from '../slot.ts'

/** The texts of the dialog that asks before an import, but for the list. */
export function importContents(importing: ProfilesView['importing'], translate: Translate): Contents {
  if (importing === undefined || importing.kept.length === 0) return {}
  return { 'import-kept': translate('import_kept', importing.kept.join(', ')) }
}

/** What stands in the row of one change: what will be, and below it what there was, where that is something else. */
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
