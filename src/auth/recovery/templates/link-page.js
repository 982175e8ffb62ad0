// Shows the typed password on request, and the first rule that the password breaks. The form works
// without this script: the service checks every password.
const input = document.getElementById('password');
const toggle = document.getElementById('toggle');
const feedback = document.getElementById('feedback');
const login = document.getElementById('login').value.toLowerCase();
const { min, short, simple, identity, good } = feedback.dataset;
const differentMin = 5;

function textFor(password) {
  const characters = [...password];
  if (characters.length === 0) return '';
  if (characters.length < Number(min)) return short.replace('{count}', String(min - characters.length));
  if (login.length >= 4 && password.toLowerCase().includes(login)) return identity;
  return new Set(characters).size < differentMin ? simple : good;
}

function show(isShown) {
  input.type = isShown ? 'text' : 'password';
  toggle.textContent = isShown ? toggle.dataset.hide : toggle.dataset.show;
  toggle.setAttribute('aria-pressed', String(isShown));
}

toggle.hidden = false;
toggle.addEventListener('click', () => {
  show(input.type === 'password');
  input.focus();
});
function judge() {
  feedback.textContent = textFor(input.value);
  feedback.className = feedback.textContent === good ? 'good' : '';
}

input.addEventListener('input', judge);
// What was typed or filled in before this script ran.
judge();
// A password manager recognizes the password only in a password field.
input.form.addEventListener('submit', () => show(false));
