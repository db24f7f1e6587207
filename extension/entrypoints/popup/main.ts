import { Popup } from '../../core/popup/popup.ts'
import type { PopupView } from '../../core/popup/popup-view.ts'
import { createBrowser } from '../../platform/browser.ts'
import { translate } from '../../platform/translate.ts'
import { render } from '../../ui/render.ts'

let shown: PopupView = { kind: 'loading' }

const popup = new Popup(createBrowser(), (view) => {
  shown = view
  draw()
  // `npm run timing` reads this mark.
  performance.mark(view.kind)
})

function draw(): void {
  render(document.body, shown, (action) => void popup.act(action), translate)
}

// When opened as a page in a tab, its height is not limited.
if (location.hash) document.body.className = 'page'
// Its requests to the browser run while the page is drawn.
void popup.start()
draw()
setInterval(draw, 1000)
addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') close()
})
