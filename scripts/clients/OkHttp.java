import identity.*;
import identity.api.*;
import identity.auth.HttpBearerAuth;
import identity.model.*;
import java.util.*;

/** Uses the client of openapi-generator for Java, with the library `okhttp-gson`. */
public class OkHttp {
  public static void main(String[] arguments) throws Exception {
    String suffix = arguments[3];
    var client = new ApiClient();
    client.setBasePath(arguments[0]);
    var authentication = new AuthenticationApi(client);
    var credentials = new LoginRequest().login(arguments[1]).password(arguments[2]);
    String token = authentication.login(credentials).execute().getAccessToken();
    ((HttpBearerAuth) client.getAuthentication("bearer")).setBearerToken(token);

    var users = new UsersApi(client);
    var wanted = new CreateUserRequest().userType(UserType.CARRIER).carrierId("java-okhttp").name("jo-" + suffix)
        .email("jo-" + suffix + "@example.com").phone("+4312345678").roles(Set.of("carrier_user"))
        .allowedIps(Set.of("203.0.113.0/24")).attributes(Map.of("tier", "gold"));
    UserResponse created = users.createUser(wanted).execute();
    users.createUser(wanted.name("jo2-" + suffix).email("jo2-" + suffix + "@example.com")).execute();

    String cursor = null;
    int found = 0;
    do {
      UserListResponse page = users.listUsers().carrierIdIn(List.of("java-okhttp", "other")).perPage(1).cursor(cursor)
          .orderBy(UserSort.NAME).execute();
      found += page.getItems().size();
      cursor = page.getNextCursor();
    } while (cursor != null);
    check(found == 2, "listed " + found);

    UserResponse changed = users.changeUser(created.getUserId(), new ChangeUserRequest().locale("en")).execute();
    check("en".equals(changed.getLocale()), "the locale is " + changed.getLocale());
    check(changed.getRoles().equals(created.getRoles()) && !changed.getRoles().isEmpty(), "the roles changed");
    check(changed.getAllowedIps().equals(created.getAllowedIps()) && !changed.getAllowedIps().isEmpty(), "the addresses changed");
    check(changed.getAttributes().equals(created.getAttributes()), "the attributes changed");
    check(changed.getPhone().equals(created.getPhone()), "the phone changed");

    var bulk = new BulkChangesApi(client);
    var change = new ChangeFoundUsersRequest().timezone("Europe/Vienna");
    BulkPreviewResponse preview = bulk.changeUsers(change).carrierId("java-okhttp").dryRun(true).execute()
        .getBulkPreviewResponse();
    BulkResultResponse result = bulk.changeUsers(change).carrierId("java-okhttp")
        .confirmToken(preview.getConfirmToken()).execute().getBulkResultResponse();
    check(result.getChanged() == 2, "bulk: changed " + result.getChanged());

    UUID other = authentication.login(credentials).execute().getSessionId();
    var sessions = new SessionsApi(client);
    sessions.endSession(other).execute();
    SessionListResponse ended = sessions.listSessions().sessionId(other).execute();
    check(ended.getItems().get(0).getEndedReason() == SessionEndReason.REVOKED, "the session was not revoked");

    try {
      users.createUser(wanted).execute();
      check(false, "created twice");
    } catch (ApiException error) {
      String code = JSON.<ProblemResponse>deserialize(error.getResponseBody(), ProblemResponse.class).getCode();
      check(code.endsWith("_taken"), "the code is " + code);
    }
    secondFactor(arguments);
    System.out.println("ok");
  }

  /** Logs in with a second factor, and authenticates again in a session that is too old for a new role. */
  static void secondFactor(String[] arguments) throws Exception {
    var authentication = new AuthenticationApi(clientFor(arguments[0], null));
    try {
      authentication.login(new LoginRequest().login(arguments[4]).password(arguments[2])).execute();
      check(false, "logged in with one factor");
    } catch (ApiException error) {
      LoginUnauthorizedProblem required = JSON.deserialize(
          error.getResponseBody(), LoginUnauthorizedProblem.class);
      check(required.getCode().toString().equals("auth.second_factor_required"), "the code is " + required.getCode());
      check(required.getExpiresIn() > 0 && required.getFactors().contains(FactorMethod.RECOVERY_CODE), "no recovery code");
      new SecondFactorsApi(clientFor(arguments[0], null)).completeLogin(
          new SecondFactorRequest().challenge(required.getChallenge()).recoveryCode(arguments[5])).execute();
    }

    var old = clientFor(arguments[0], arguments[7]);
    var role = new CreateRoleRequest().name("jo-" + arguments[3]).userTypes(Set.of(UserType.SYSTEM));
    try {
      new RolesApi(old).createRole(role).execute();
      check(false, "created a role in an old session");
    } catch (ApiException error) {
      String code = JSON.<ProblemResponse>deserialize(error.getResponseBody(), ProblemResponse.class).getCode();
      check(code.equals("auth.reauthentication_required"), "the code is " + code);
      String challenge = String.join(" ", error.getResponseHeaders().getOrDefault("www-authenticate", List.of()));
      check(challenge.contains("max_age=\"300\""), "the challenge is " + challenge);
    }
    var renewed = new AuthenticationApi(old).reauthenticate(new ReauthenticateRequest().recoveryCode(arguments[6]))
        .execute();
    new RolesApi(clientFor(arguments[0], renewed.getAccessToken())).createRole(role).execute();
  }

  static ApiClient clientFor(String url, String token) {
    var client = new ApiClient();
    client.setBasePath(url);
    if (token != null) ((HttpBearerAuth) client.getAuthentication("bearer")).setBearerToken(token);
    return client;
  }

  static void check(boolean holds, String message) {
    if (!holds) throw new IllegalStateException(message);
  }
}
