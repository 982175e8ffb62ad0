"""Uses the client of openapi-generator for Python."""
import json
import sys
import urllib.request

import identity
from identity.models import (
    ChangeFoundUsersRequest, ChangeUserRequest, CreateRoleRequest, CreateUserRequest, FactorMethod, LoginRequest,
    ReauthenticateRequest, SecondFactorRequest, SessionEndReason, UserSort, UserType,
)

url, login, password, suffix, factor_login, login_code, fresh_code, old_token = sys.argv[1:]
configuration = identity.Configuration(host=url)
client = identity.ApiClient(configuration)
authentication = identity.AuthenticationApi(client)
credentials = LoginRequest(login=login, password=password)
configuration.access_token = authentication.login(credentials).access_token

users = identity.UsersApi(client)
wanted = CreateUserRequest(
    user_type=UserType.CARRIER, carrier_id="python-generator", name=f"pg-{suffix}", email=f"pg-{suffix}@example.com",
    phone="+4312345678", roles=["carrier_user"], allowed_ips=["203.0.113.0/24"], attributes={"tier": "gold"},
)
created = users.create_user(wanted)
second = wanted.model_copy(update={"name": f"pg2-{suffix}", "email": f"pg2-{suffix}@example.com"})
users.create_user(second)

found, cursor = [], None
while True:
    page = users.list_users(
        carrier_id_in=["python-generator", "other"], per_page=1, cursor=cursor, order_by=UserSort.NAME
    )
    found += page.items
    cursor = page.next_cursor
    if cursor is None:
        break
assert len(found) == 2, found

changed = users.change_user(created.user_id, ChangeUserRequest(locale="en"))
assert changed.locale == "en"
for field in ("roles", "allowed_ips", "attributes", "phone", "name", "email"):
    assert getattr(changed, field) == getattr(created, field), field
assert changed.roles and changed.allowed_ips

bulk = identity.BulkChangesApi(client)
change = ChangeFoundUsersRequest(timezone="Europe/Vienna")
preview = bulk.change_users(change, carrier_id="python-generator", dry_run=True).actual_instance
result = bulk.change_users(change, carrier_id="python-generator", confirm_token=preview.confirm_token).actual_instance
assert result.changed == 2, result

other = authentication.login(credentials).session_id
sessions = identity.SessionsApi(client)
sessions.end_session(other)
ended = sessions.list_sessions(session_id=other).items[0]
assert ended.ended_reason == SessionEndReason.REVOKED, ended

overview = identity.StatisticsApi(client).get_overview()
assert len(overview.logins) == 24 and overview.users, overview
link = identity.ImportAndExportApi(client).create_export_link(carrier_id="python-generator")
with urllib.request.urlopen(link.url) as export:
    assert wanted.email in export.read().decode()

try:
    users.create_user(wanted)
    raise AssertionError("created twice")
except identity.exceptions.ConflictException as error:
    assert json.loads(error.body)["code"].endswith("_taken"), error.body
    assert error.data.code.endswith("_taken"), error.data

try:
    authentication.login(LoginRequest(login=factor_login, password=password))
    raise AssertionError("logged in with one factor")
except identity.exceptions.UnauthorizedException as error:
    required = error.data
assert required.code == "auth.second_factor_required", required
assert required.expires_in > 0 and FactorMethod.RECOVERY_CODE in required.factors, required
second_factors = identity.SecondFactorsApi(client)
second_factors.complete_login(SecondFactorRequest(challenge=required.challenge, recovery_code=login_code))

configuration.access_token = old_token
roles = identity.RolesApi(client)
role = CreateRoleRequest(name=f"pg-{suffix}", user_types=[UserType.SYSTEM])
try:
    roles.create_role(role)
    raise AssertionError("created a role in an old session")
except identity.exceptions.UnauthorizedException as error:
    assert error.data.code == "auth.reauthentication_required", error.data
    assert 'max_age="300"' in error.headers["WWW-Authenticate"], error.headers
renewed = authentication.reauthenticate(ReauthenticateRequest(recovery_code=fresh_code))
configuration.access_token = renewed.access_token
roles.create_role(role)
print("ok")
