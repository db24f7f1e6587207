// Replaces the main script of the popup's page: shows any view from a test.
import '../../../../extension/entrypoints/popup/style.css'
import type { PopupAction, PopupView } from '../../../../extension/core/popup/popup-view.ts'
import { render } from '../../../../extension/ui/render.ts'
import { createTranslate, type Message } from './translator.ts'

const actions: PopupAction[] = []

Object.assign(globalThis, {
  actions,
  show(view: PopupView, messages: Record<string, Message>, now: number) {
    render(document.body, view, (action) => void actions.push(action), createTranslate(messages), now)
  },
})
