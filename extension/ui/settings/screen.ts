import type { ProfileDraft } from '../../core/settings/profile-form.ts'
import type { SettingsAction, SettingsView } from '../../core/settings/settings-view.ts'
import { confined, localise, type Translate } from '../message.ts'
import { type Contents, fill, fillList, setOpen } from '../slot.ts'
import { noticeText, profileCells } from './cells.ts'
import { createProfileDialog, formContents } from './profile-form-view.ts'

/**
 * Creates the settings page, whose body is `root`; returns a function that shows a view. Calls `act` in the click
 * handler.
 */
export function createSettingsScreen(
  root: HTMLElement,
  texts: Translate,
  act: (action: SettingsAction) => void,
): (view: SettingsView) => void {
  const translate = confined(texts)
  const deletion = root.querySelector('#deletion') as HTMLDialogElement
  const form = createProfileDialog(root)

  localise(root, translate)
  document.title = `Drawbridge · ${translate('settings_title')}`
  root.addEventListener('click', ({ target }) => {
    const { name, value, type } = (target as Element).closest('button') ?? {}
    if (name && type !== 'submit') act(actionOf(name, value ?? '', form.draft()))
  })
  root.addEventListener('submit', (event) => {
    event.preventDefault()
    act({ kind: 'save', draft: form.draft() })
  })
  // The Escape key closes a dialog, but the view decides whether it is open. The event does not bubble.
  root.addEventListener(
    'cancel',
    (event) => {
      if (!(event.target instanceof HTMLDialogElement)) return
      event.preventDefault()
      act({ kind: 'cancel' })
    },
    { capture: true },
  )

  return (view) => {
    fill(root, contentsOf(view, translate))
    if (view.kind === 'profiles') {
      fillList(root, 'profiles', view.profiles, (profile, row) => profileCells(profile, row, translate))
      fillList(root, 'other-sites', view.otherSites, (site, row) => {
        const host = site === '*' ? translate('every_site') : site
        const button = row.querySelector('button') as HTMLButtonElement
        button.value = site
        button.ariaLabel = translate('take_back_name', host)
        return { host, 'take-back': translate('take_back') }
      })
    }
    form.show(view.kind === 'profiles' ? view.form : undefined)
    setOpen(deletion, view.kind === 'profiles' && view.deleting !== undefined)
    if (root.dataset['view'] !== view.kind && view.kind === 'allow') {
      root.querySelector<HTMLElement>('[name=allow-asked]')?.focus()
    }
    root.dataset['view'] = view.kind
    if (view.kind !== 'loading') root.dataset['ready'] = ''
  }
}

/** Maps a button to its action: its name is the kind, its value the subject. */
function actionOf(name: string, value: string, draft: ProfileDraft): SettingsAction {
  const [purpose, id] = value.split(':')
  return { kind: name, draft, host: value, ...(id ? { purpose, id } : { id: value }) } as SettingsAction
}

function contentsOf(view: SettingsView, translate: Translate): Contents {
  if (view.kind === 'loading') return {}
  if (view.kind === 'profiles') {
    const { profiles, otherSites, form, deleting, notice } = view
    return {
      title: translate('settings_title'),
      detail: translate('settings_detail'),
      privacy: true,
      notice: noticeText(notice, translate),
      profiles: true,
      'no-profiles': profiles.length === 0,
      'other-sites': otherSites.length > 0,
      'deletion-title': deleting && translate('delete_title', deleting.label),
      ...formContents(form, translate),
    }
  }
  const { purpose, host, outcome } = view
  const mayAsk = outcome !== 'allowed'
  return {
    title: translate(`allow_${purpose}_title`, host),
    detail: translate(`allow_${purpose}_detail`),
    allows: true,
    'allows-what': translate(`allow_means_${purpose}`, host),
    notice: outcome === 'open' ? '' : translate(`allow_${outcome}`, host),
    question: true,
    'allow-asked': mayAsk && translate('action_allow', host),
    return: translate(mayAsk ? 'allow_later' : 'action_settings'),
  }
}
