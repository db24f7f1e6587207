import type { SettingsNotice } from '../../core/settings/settings-view.ts'
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
    case 'imported': {
      // Our languages have only these two; one with more adds texts of the same pattern.
      const plural = new Intl.PluralRules(translate('locale')).select(notice.count) as 'one' | 'other'
      return translate(`notice_imported_${plural}`, String(notice.count))
    }
    case 'not-imported':
      return translate(`import_${messagePart(notice.reason)}`, String(notice.position))
  }
}
