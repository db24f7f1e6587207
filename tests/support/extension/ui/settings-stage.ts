// Replaces the main script of the settings page: shows any view from a test.
import '../../../../extension/entrypoints/options/style.css'
import type { SettingsAction, SettingsView } from '../../../../extension/core/settings/settings-view.ts'
import { createSettingsScreen } from '../../../../extension/ui/settings/screen.ts'
import { createTranslate, type Message } from './translator.ts'

const actions: SettingsAction[] = []
let screen: ((view: SettingsView) => void) | undefined

Object.assign(globalThis, {
  actions,
  show(view: SettingsView, messages: Record<string, Message>) {
    screen ??= createSettingsScreen(
      document.body,
      createTranslate(messages),
      (action) => void actions.push(action),
    )
    screen(view)
  },
})
